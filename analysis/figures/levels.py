"""Level lines that scores are read against: chance and baselines dotted in grey, bounds dark."""

from __future__ import annotations

import math
from collections.abc import Sequence
from textwrap import wrap
from typing import Any

from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from analysis.figures.arm_styles import arm_styles
from analysis.figures.style import GREY
from analysis.records.results import Results
from analysis.records.run_records import Arm
from analysis.statistics.levels import Level, levels_of
from experiments.records.quantities import Quantity

DARK = "#333333"
BASELINES: Any = ((0, (1, 2)), (0, (5, 2, 1, 2)), (0, (1, 4)), (0, (3, 3)))
"""Lines of the first, second, third and fourth baseline of a score."""
BOUNDS: Any = {"causal": (0, (5, 2)), "all": "-"}
LABEL = 7.5
"""Font size of names beside the frame."""
LETTERS = 20
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
) -> None:
    """Every level of a score, of some arms or of all; the panel grows to hold them.

    A level that differs by arm is drawn in their colours, in rows of arms (`vertical`) at their height. `beside`: names
    stand beside the frame.
    """
    arms = group.arms if arms is None else arms
    found = [(level, line) for level, line in _lines(group, score) if _can_be_drawn(score, level)]
    if not found:
        return
    values = [value for level, _ in found for value in map(level.of, arms) if isinstance(value, float)]
    if values:
        _widen(ax, values, vertical)
    styles = arm_styles(group)
    for level, line in found:
        if level.value is not None:
            (ax.axvline if vertical else ax.axhline)(level.value, color=_color(level), lw=1.1, ls=line, zorder=1.5)
            continue
        for row, arm in enumerate(arms):
            value = level.of(arm)
            if not isinstance(value, float):
                continue
            if vertical:
                ax.plot([value] * 2, [row - 0.42, row + 0.42], color=styles[arm.name].color, lw=1.3, ls=line)
            else:
                ax.axhline(value, color=styles[arm.name].color, lw=1.1, ls=line, zorder=1.5)
    if beside:
        _name_beside(ax, [level for level, _ in found if level.value is not None])


def level_handles(group: Results, *scores: Quantity, beside: bool = False) -> list[Line2D]:
    """Entries of a legend for the levels drawn of some scores. `beside`: those that are not named beside a frame."""
    handles: dict[str, Line2D] = {}
    for score in scores:
        for level, line in _lines(group, score):
            if _can_be_drawn(score, level) and not (beside and level.value is not None):
                name = level.in_words if level.value is not None else f"{level.in_words} (by arm)"
                color = _color(level) if level.value is not None else GREY
                handles.setdefault(name, Line2D([], [], color=color, lw=1.1, ls=line, label=name))
    return list(handles.values())


def _lines(group: Results, score: Quantity) -> list[tuple[Level, Any]]:
    """The levels of a score, and how each is drawn."""
    levels = levels_of(group, score)
    baselines = [level for level in levels if not level.bounds]
    return [
        (level, BOUNDS[level.bounds] if level.bounds else BASELINES[baselines.index(level) % len(BASELINES)])
        for level in levels
    ]


def _can_be_drawn(score: Quantity, level: Level) -> bool:
    return score.scale == "linear" or min(level.values) > 0


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
