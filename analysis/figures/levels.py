"""Level lines that scores are read against: chance and baselines dotted in grey, bounds dark."""

from __future__ import annotations

import math
from collections.abc import Sequence
from textwrap import wrap
from typing import Any

from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from analysis.figures.arm_styles import arm_styles
from analysis.figures.panels import GREY, Stroke, draw_strokes
from analysis.records.results import Results
from analysis.records.run_records import Arm
from analysis.statistics.levels import CHANCE, Level, levels_of
from experiments.records.quantities import Quantity

DARK = "#333333"
BASELINES: Any = ((0, (1, 2)), (0, (5, 2, 1, 2)), (0, (3, 3)), (0, (1, 4)), (0, (5, 2, 1, 2, 1, 2)), (0, (7, 4)))
"""Lines of chance and of the other baselines, in the order declared: alike in all figures."""
BOUNDS: Any = {"causal": (0, (5, 2)), "all": "-"}
LABEL = 7.5
"""Font size of names beside the frame."""
LETTERS = 22
"""Longest line of such a name."""
LINE, GAP = 0.048, 0.02
"""Height of such a line, and the gap between two names, as shares of the frame."""


def draw_levels(
    ax: Axes,
    group: Results,
    score: Quantity,
    vertical: bool = False,
    beside: bool = False,
    arms: Sequence[Arm] | None = None,
) -> list[Line2D]:
    """The levels of a score, of some arms or of all; the panel grows to hold them. Returns entries for the legend.

    Baselines far from the curves are left out, but for the best. A level that differs by arm is drawn in their colours,
    in rows of arms (`vertical`) at their height. `beside`: names stand beside the frame, not in the legend.
    """
    arms = group.arms if arms is None else arms
    drawn = _near(levels_of(group, score), ax.get_xlim() if vertical else ax.get_ylim())
    values = [value for level in drawn for value in map(level.of, arms) if isinstance(value, float)]
    if not values:
        return []
    _widen(ax, values, vertical)
    styles, handles, baselines = arm_styles(group), [], _baselines(group)
    for level in drawn:
        line = BOUNDS[level.bounds] if level.bounds else BASELINES[baselines.index(level.name) % len(BASELINES)]
        if level.value is not None:
            (ax.axvline if vertical else ax.axhline)(level.value, color=_color(level), lw=1.1, ls=line, zorder=1.5)
        elif vertical:
            ends = {arm: [(value, row - 0.42), (value, row + 0.42)] for row, arm, value in _by_arm(level, arms)}
            draw_strokes(ax, [Stroke(places, styles[arm.name].color, line) for arm, places in ends.items()], lw=1.3)
        else:
            ends = {arm: [(0, value), (1, value)] for _, arm, value in _by_arm(level, arms)}
            strokes = [Stroke(places, styles[arm.name].color, line) for arm, places in ends.items()]
            draw_strokes(ax, strokes, lw=1.1, zorder=1.5, transform=ax.get_yaxis_transform())
        if level.value is None or not beside:
            words = level.in_words if level.value is not None else f"{level.in_words} (by arm)"
            handles.append(Line2D([], [], color=_color(level), lw=1.1, ls=line, label=words))
    if beside:
        _name_beside(ax, [level for level in drawn if level.value is not None])
    return handles


def _by_arm(level: Level, arms: Sequence[Arm]) -> list[tuple[int, Arm, float]]:
    """The rows of arms with the values that are known of a level."""
    found = [(row, arm, level.of(arm)) for row, arm in enumerate(arms)]
    return [(row, arm, value) for row, arm, value in found if isinstance(value, float)]


def _near(levels: Sequence[Level], limits: tuple[float, float]) -> list[Level]:
    """Bounds, the best baseline, and the other baselines that are not further from the panel than its size."""
    low, high = min(limits), max(limits)
    sign = -1 if levels and levels[0].score.better == "lower" else 1
    baselines = [level for level in levels if not level.bounds]
    best = max(baselines, key=lambda level: max(sign * value for value in level.values), default=None)
    near = [
        level
        for level in levels
        if level.bounds or level is best or all(2 * low - high <= value <= 2 * high - low for value in level.values)
    ]
    return [level for level in near if level.score.scale == "linear" or min(level.values) > 0]


def _baselines(group: Results) -> list[str]:
    """The names of all baselines in a report."""
    declared = (group.whole or group).quantities
    return [*dict.fromkeys([CHANCE, *(one.label for one in declared if one.level_of and not one.bounds)])]


def _color(level: Level) -> str:
    return DARK if level.bounds else GREY


def _widen(ax: Axes, values: list[float], vertical: bool) -> None:
    limits, widen, scale = (
        (ax.get_xlim, ax.set_xlim, ax.get_xscale) if vertical else (ax.get_ylim, ax.set_ylim, ax.get_yscale)
    )
    low, high = limits()
    lowest, highest = min(values), max(values)
    if scale() == "log":
        margin = (max(high, highest) / min(low, lowest)) ** 0.04
        widen(min(low, lowest / margin), max(high, highest * margin))
        return
    margin = 0.05 * (max(high, highest) - min(low, lowest))
    widen(lowest - margin if lowest < low + margin else low, highest + margin if highest > high - margin else high)


def _name_beside(ax: Axes, levels: list[Level]) -> None:
    """Name the lines to the right of the frame, clear of the curves; close ones are moved apart."""
    levels = sorted(levels, key=lambda level: level.values[0])
    names = ["\n".join(wrap(level.in_words, LETTERS)) for level in levels]
    low, high = (float(end) for end in ax.get_ylim())
    log = ax.get_yscale() == "log"
    places = [_fraction(level.values[0], low, high, log) for level in levels]
    heights = [LINE * (1 + name.count("\n")) + GAP for name in names]
    for level, name, place, beside in zip(levels, names, places, _apart(places, heights), strict=True):
        ax.annotate(
            name,
            xy=(1, place),
            xytext=(1.03, beside),
            xycoords="axes fraction",
            textcoords="axes fraction",
            va="center",
            fontsize=LABEL,
            color=_color(level),
            annotation_clip=False,
            arrowprops={"arrowstyle": "-", "color": _color(level), "lw": 0.6, "shrinkA": 0, "shrinkB": 0},
        )


def _fraction(value: float, low: float, high: float, log: bool) -> float:
    """Where a value stands on an axis, from 0 to 1."""
    if log:
        value, low, high = (math.log(one) for one in (value, low, high))
    return (value - low) / (high - low)


def _apart(places: Sequence[float], heights: Sequence[float]) -> list[float]:
    """Ascending places moved apart by the heights of what stands there; what would pass the top is moved down."""
    found: list[float] = []
    for i, place in enumerate(places):
        room = (heights[i - 1] + heights[i]) / 2 if found else 0.0
        found.append(max(place, found[-1] + room) if found else place)
    top = 1.0
    for i in reversed(range(len(found))):
        found[i] = min(found[i], top)
        top = found[i] - (heights[i] + heights[i - 1]) / 2
    return found
