"""Figures of final scores over a numeric factor."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import cycle

from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import NullLocator

from analysis.figures.arm_styles import BLUE, MARKERS, OTHERS, VERMILION, ArmStyle, arm_styles, place_legend
from analysis.figures.panels import Stroke, draw_strokes, panels
from analysis.figures.seeds import log_values, seed_handle
from analysis.figures.style import Drawing, plain
from analysis.records.factors import Factor
from analysis.records.labels import listed, unit_and_direction
from analysis.records.results import Results
from analysis.records.run_records import Arm
from analysis.statistics.factor_effects import Line
from analysis.statistics.intervals import interval_of, log_interval_of
from analysis.statistics.item_errors import final_scores
from experiments.records.quantities import Quantity

MOST_LEVELS = 4
"""Level lines of more arms would hide the curves."""
MOST_TICKS = 7
WIDE_SPAN = 10
"""Settings that span more than this factor are drawn on a log scale."""


def factor_curves_figure(
    group: Results, factor: Factor, lines: Sequence[Line], quantities: Sequence[Quantity]
) -> Drawing | None:
    """Final score over the factor, a panel for each quantity and a curve for each line; arms without it are level."""
    arms = [arm for line in lines for arm in line.arms.values()]
    shown = [quantity for quantity in quantities if any(arm.final_scores(quantity) for arm in arms)]
    if not shown:
        return None
    level = [arm for arm in group.arms if arm not in factor.settings]
    level = level if len(level) <= MOST_LEVELS else []
    styles = _line_styles(group, lines, {arm_styles(group)[arm.name].color for arm in level})
    figure, axes = panels(len(shown), 3, width=3.8)
    for ax, quantity in zip(axes, shown, strict=True):
        drawn: list[float] = []
        log = quantity.scale == "log" and all(
            score > 0 for arm in (*arms, *level) for score in arm.final_scores(quantity).values()
        )
        for line, style in zip(lines, styles, strict=True):
            drawn += _draw_line(ax, line, quantity, style, log)
        for arm in level:
            drawn += _draw_level(ax, arm, quantity, arm_styles(group)[arm.name], log)
        _scale(ax, factor, [setting for line in lines for setting in line.arms], drawn, log)
        ax.set_ylabel(unit_and_direction(quantity))
        ax.set_title(plain(quantity.label))
    handles = [_handle(style) for style in (*styles, *(arm_styles(group)[arm.name] for arm in level))] + [seed_handle()]
    place_legend(figure, handles)
    caption = (
        f"Final score over {factor.name}. Open dots are seeds, markers their mean, bars its 95 % interval (cut at "
        "the frame). Each curve joins arms that differ by nothing else."
    )
    if level:
        caption += f" Level lines are the means of arms without a {factor.name}: {listed(arm.name for arm in level)}."
    return Drawing(factor.slug.replace("_", "-"), caption, figure)


def _line_styles(group: Results, lines: Sequence[Line], used: set[str]) -> list[ArmStyle]:
    """That of the reference first, in colours not used for arms without the factor; those of causal arms solid."""
    first = group.references.first
    ahead = sorted(range(len(lines)), key=lambda i: first not in lines[i].arms.values())
    looks = zip(
        cycle(color for color in (BLUE, VERMILION, *OTHERS) if color not in used), cycle(("o", *MARKERS)), strict=False
    )
    styles: dict[int, ArmStyle] = {}
    for i, (color, marker) in zip(ahead, looks, strict=False):
        solid = all(arm.is_causal for arm in lines[i].arms.values())
        styles[i] = ArmStyle(color, "-" if solid else "--", marker, plain(lines[i].name))
    return [styles[i] for i in range(len(lines))]


def _draw_line(ax: Axes, line: Line, quantity: Quantity, style: ArmStyle, log: bool) -> list[float]:
    """Returns the scores drawn."""
    seeds: list[tuple[float, float]] = []
    bars: list[list[tuple[float, float]]] = []
    means: list[tuple[float, float]] = []
    for setting, arm in line.arms.items():
        measured = final_scores(arm, quantity).values()
        if not measured:
            continue
        x, mean = float(setting), (log_interval_of if log else interval_of)(measured)
        seeds += [(x, one.value) for one in measured]
        if mean.low is not None and mean.high is not None:
            bars.append([(x, mean.low), (x, mean.high)])
        means.append((x, mean.mean))
    draw_strokes(ax, [Stroke(seeds, style.color, "", "o")], ms=4, mfc="none", alpha=0.7)
    draw_strokes(ax, [Stroke(ends, style.color) for ends in bars], lw=1.6)
    x_of, y_of = [x for x, _ in means], [y for _, y in means]
    ax.plot(x_of, y_of, ls=style.line, lw=1.2, marker=style.marker, ms=6.5, color=style.color, mec="white", mew=0.6)
    return [score for _, score in seeds]


def _draw_level(ax: Axes, arm: Arm, quantity: Quantity, style: ArmStyle, log: bool) -> list[float]:
    """Returns the scores drawn."""
    measured = final_scores(arm, quantity).values()
    if measured:
        mean = (log_interval_of if log else interval_of)(measured).mean
        ax.axhline(mean, color=style.color, lw=1.4, ls=style.line)
    return [one.value for one in measured]


def _scale(ax: Axes, factor: Factor, settings: Sequence[float | str], drawn: Sequence[float], log: bool) -> None:
    """Ticks at settings, as many as there is room for; a log axis where settings span decades."""
    low, high = min(drawn), max(drawn)
    if log:
        log_values(ax, low, high, 0.12)
    else:
        margin = 0.12 * (high - low) or 0.05
        ax.set_ylim(low - margin, high + margin)
    numbers = sorted({float(setting) for setting in settings})
    if numbers[0] > 0 and numbers[-1] / numbers[0] > WIDE_SPAN:
        ax.set_xscale("log")
        ax.xaxis.set_minor_locator(NullLocator())
    shown = numbers[:: -(-len(numbers) // MOST_TICKS)]
    ax.set_xticks(shown, [factor.text(number) for number in shown])
    ax.set_xlabel(factor.name)


def _handle(style: ArmStyle) -> Line2D:
    return Line2D([], [], color=style.color, ls=style.line, marker=style.marker, label=style.name)
