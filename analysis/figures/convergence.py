"""Figures of convergence: budget to each threshold by arm, and the ratio of budgets between paired arms."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedFormatter, FixedLocator, NullLocator

from analysis.figures.arm_styles import ArmStyle, arm_styles, draw_legend
from analysis.figures.panels import GREY, panels
from analysis.figures.seeds import Dots, budget_axis, draw_dots, name_rows, row_panels, seed_handle
from analysis.figures.style import Drawing, plain
from analysis.records.labels import AXES, listed, with_unit
from analysis.records.results import Results
from analysis.records.run_records import Arm
from analysis.statistics.compare import Comparison
from analysis.statistics.convergence import counted_crossings, mean_budget, paired_budget_ratios
from analysis.statistics.intervals import Interval
from analysis.statistics.thresholds import Threshold, ThresholdsByQuantity


def budgets_figure(group: Results, thresholds: ThresholdsByQuantity, axis: str) -> Drawing | None:
    """Budget to each threshold by arm, one panel a quantity; censored seeds are arrows."""
    shown = {name: found for name, found in thresholds.items() if found}
    if not shown:
        return None
    height = 0.9 + max(map(len, shown.values())) * (0.35 + 0.17 * len(group.arms))
    figure, axes = panels(len(shown), len(shown), width=max(3.9, 7.4 / len(shown)), height=height)
    for ax, found in zip(axes, shown.values(), strict=True):
        _budgets_panel(ax, group, found, axis)
        ax.set_title(plain(found[0].quantity.label))
    arrow, early = (
        Line2D([], [], ls="", marker=marker, ms=6, color=GREY, label=text)
        for marker, text in ((">", "not reached by here"), ("<", "reached by the first snapshot"))
    )
    draw_legend(figure, group.arms, group, [seed_handle(), arrow, early])
    caption = (
        f"Budget ({AXES[axis].label}) needed to reach each threshold, on a log scale. Open dots are seeds, markers "
        "their geometric mean, bars its 95 % interval (only where every seed reached it; cut at the frame). Arrows "
        "are seeds of which only a bound is known."
    )
    return Drawing("budget-to-threshold", caption, figure)


def _budgets_panel(ax: Axes, group: Results, thresholds: Sequence[Threshold], axis: str) -> None:
    styles = arm_styles(group)
    rows = [
        _crossing_dots(arm, threshold, axis, row + shift, styles[arm.name])
        for row, threshold in enumerate(thresholds)
        for arm, shift in zip(group.arms, _shifts(len(group.arms)), strict=True)
    ]
    draw_dots(ax, rows)
    drawn = [value for row in rows for value in row.values]
    for row in range(len(thresholds)):
        ax.axhline(row + 0.5, color="#E3E3E3", lw=0.8)
    name_rows(ax, [threshold.shown for threshold in thresholds])
    ax.set_ylabel("threshold")
    if drawn:
        ax.set_xlim(min(drawn) / 1.4, max(drawn) * 1.4)
    budget_axis(ax, axis, log=bool(drawn))


def _shifts(count: int) -> list[float]:
    """Heights of several arms around one row."""
    reach = min(0.36, 0.2 + 0.03 * count)
    return [0.0] if count == 1 else np.linspace(-reach, reach, count).tolist()


def _crossing_dots(arm: Arm, threshold: Threshold, axis: str, y: float, style: ArmStyle) -> Dots:
    """One arm at one threshold, by its positive budgets."""
    found = counted_crossings(arm, threshold, axis)
    mean = mean_budget(found)
    reached = [c.budget for c in found.values() if c.kind == "reached"]
    early = [c.budget for c in found.values() if c.kind == "early" and c.budget > 0]
    later = [c.budget for c in found.values() if c.kind in ("never", "unfinished") and c.budget > 0]
    return Dots(y, style, reached, mean if isinstance(mean, Interval) else None, early, later)


def budget_ratios_figure(
    group: Results, pairs: Sequence[Comparison], thresholds: ThresholdsByQuantity
) -> Drawing | None:
    """Budget ratios by quantity and threshold, one panel a budget; 1 is the line."""
    rows = [threshold for found in thresholds.values() for threshold in found]
    paired = [pair for pair in pairs if pair.refusal is None]
    if not rows or not paired:
        return None
    height = 0.9 + len(rows) * (0.22 + 0.15 * len(paired))
    names = [f"{with_unit(row.quantity)} = {row.shown}" for row in rows]
    figure, axes = row_panels(names, len(AXES), len(AXES), width=3.1, height=height)
    for ax, axis in zip(axes, AXES, strict=True):
        _ratios_panel(ax, group, paired, rows, axis)
    bound = Line2D([], [], ls="", marker=">", ms=6, color=GREY, label="bound only, one side is censored")
    draw_legend(figure, [pair.arm for pair in paired], group, [seed_handle(), bound])
    references = listed(dict.fromkeys(pair.reference.name for pair in paired))
    caption = (
        f"Budget of each arm over that of its reference ({references}) to the same threshold, paired by seed. Open "
        "dots are seeds, markers their geometric mean, bars the 95 % interval of its log (cut at the frame). Right "
        "of the line the arm needs more than its reference."
    )
    return Drawing("budget-ratios", caption, figure)


def _ratios_panel(
    ax: Axes, group: Results, pairs: Sequence[Comparison], thresholds: Sequence[Threshold], axis: str
) -> None:
    styles = arm_styles(group)
    rows: list[Dots] = []
    for row, threshold in enumerate(thresholds):
        here = [
            _ratio_dots(pair, threshold, axis, row + shift, styles[pair.arm.name])
            for pair, shift in zip(pairs, _shifts(len(pairs)), strict=True)
        ]
        if not any(dots.values for dots in here):
            place = ax.get_yaxis_transform()
            ax.text(0.98, row, "no ratio is known", transform=place, ha="right", va="center", color=GREY)
        rows += here
    draw_dots(ax, rows)
    ax.axvline(1, color=GREY, lw=1)
    _ratio_axis(ax, [value for row in rows for value in row.values])
    ax.set_title(AXES[axis].label)
    ax.set_xlabel("ratio of budgets")


def _ratio_dots(pair: Comparison, threshold: Threshold, axis: str, y: float, style: ArmStyle) -> Dots:
    """One pair at one threshold."""
    found = paired_budget_ratios(pair, threshold, axis)
    interval = found.interval
    mean = interval if isinstance(interval, Interval) else None
    return Dots(y, style, [*found.exact.values()], mean, [*found.at_most.values()], [*found.at_least.values()])


def _ratio_axis(ax: Axes, drawn: Sequence[float]) -> None:
    """A log axis that holds every seed and 1/2 to 2, with few, plain labels."""
    low, high = min(drawn, default=1) / 1.3, max(drawn, default=1) * 1.3
    low, high = min(low, 0.45), max(high, 2.2)
    ax.set_xscale("log", base=2)
    ax.set_xlim(low, high)
    powers = np.arange(np.ceil(np.log2(low)), np.floor(np.log2(high)) + 1)
    step = max(1, -(-powers.size // 6))
    ticks = 2.0 ** powers[powers % step == 0]
    ax.xaxis.set_major_locator(FixedLocator(ticks))
    ax.xaxis.set_major_formatter(FixedFormatter([f"{tick:g}" if tick >= 1 else f"1/{1 / tick:g}" for tick in ticks]))
    ax.xaxis.set_minor_locator(NullLocator())
