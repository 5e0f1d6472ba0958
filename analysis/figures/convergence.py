"""Figures of convergence: budget to each threshold by arm, and the ratio of budgets between paired arms."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import NullLocator

from analysis.figures.dots import dots, name_rows, seed_handle
from analysis.figures.seeds import budget_axis
from analysis.figures.style import GREY, Drawing, Look, legend, looks, panels, plain
from analysis.records.quantities import AXES, label, title
from analysis.records.results import Grid
from analysis.records.run_records import Arm
from analysis.statistics.compare import Comparison
from analysis.statistics.convergence import counted, mean_budget, ratio
from analysis.statistics.intervals import Interval
from analysis.statistics.thresholds import Threshold

Goals = dict[str, list[Threshold]]


def budgets(grid: Grid, goals: Goals, axis: str) -> Drawing | None:
    """Budget to each threshold by arm, one panel a quantity; censored seeds are arrows."""
    shown = {quantity: found for quantity, found in goals.items() if found}
    if not shown:
        return None
    styles = looks(grid)
    height = 0.9 + max(map(len, shown.values())) * (0.35 + 0.17 * len(grid.arms))
    figure, axes = panels(1, len(shown), width=max(3.9, 7.4 / len(shown)), height=height)
    for ax, (quantity, found) in zip(axes, shown.items(), strict=True):
        seeds: list[float] = []
        for row, goal in enumerate(found):
            for arm, shift in zip(grid.arms, _shifts(len(grid.arms)), strict=True):
                seeds += _crossings(ax, arm, goal, axis, row + shift, styles[arm.name])
            ax.axhline(row + 0.5, color="#E3E3E3", lw=0.8)
        name_rows(ax, [f"{goal.value:.3f}" for goal in found])
        ax.set_title(plain(title(quantity)))
        ax.set_ylabel("threshold")
        if seeds:
            ax.set_xlim(min(seeds) / 1.4, max(seeds) * 1.4)
        budget_axis(ax, axis, log=bool(seeds))
    arrow, early = (
        Line2D([], [], ls="", marker=marker, ms=6, color=GREY, label=text)
        for marker, text in ((">", "not reached by here"), ("<", "reached by the first snapshot"))
    )
    legend(figure, grid.arms, styles, [seed_handle(), arrow, early])
    caption = (
        f"Budget ({AXES[axis].label}) needed to reach each threshold, on a log scale. Open dots are seeds,"
        " markers their geometric mean, bars its 95 % t-interval (only where every seed reached it; cut "
        "at the frame). Arrows are seeds of which only a bound is known."
    )
    return Drawing("budget-to-threshold", caption, figure)


def _shifts(count: int) -> list[float]:
    """Heights of several arms around one row."""
    reach = min(0.36, 0.2 + 0.03 * count)
    return [0.0] if count == 1 else np.linspace(-reach, reach, count).tolist()


def _crossings(ax: Axes, arm: Arm, goal: Threshold, axis: str, y: float, look: Look) -> list[float]:
    """Draw one arm at one threshold; returns the positive budgets drawn."""
    found = counted(arm, goal, axis)
    mean = mean_budget(found)
    reached = [c.budget for c in found.values() if c.kind == "reached"]
    dots(ax, reached, mean if isinstance(mean, Interval) else None, y, look)
    bounds = [c for c in found.values() if c.kind != "reached" and c.budget > 0]
    for bound in bounds:
        marker = "<" if bound.kind == "early" else ">"
        ax.plot([bound.budget], [y], ls="", marker=marker, ms=6, color=look.color)
    return [*reached, *(bound.budget for bound in bounds)]


def ratios(pairs: Sequence[Comparison], goals: Goals, grid: Grid) -> Drawing | None:
    """Budget ratios by yardstick and threshold, one panel a budget; 1 is the line."""
    listed = [goal for found in goals.values() for goal in found]
    paired = [pair for pair in pairs if pair.refusal is None]
    if not listed or not paired:
        return None
    styles = looks(grid)
    height = 0.9 + len(listed) * (0.22 + 0.15 * len(paired))
    figure, axes = panels(1, len(AXES), width=3.1, height=height)
    for i, (ax, axis) in enumerate(zip(axes, AXES, strict=True)):
        seeds: list[float] = []
        for row, goal in enumerate(listed):
            drawn: list[float] = []
            for pair, shift in zip(paired, _shifts(len(paired)), strict=True):
                drawn += _ratio(ax, pair, goal, axis, row + shift, styles[pair.arm.name])
            if not drawn:
                place = ax.get_yaxis_transform()
                ax.text(0.98, row, "both censored", transform=place, ha="right", va="center", color=GREY)
            seeds += drawn
        ax.axvline(1, color=GREY, lw=1)
        name_rows(ax, [f"{label(g.quantity)} = {g.value:.3f}" if i == 0 else "" for g in listed])
        _ratio_axis(ax, seeds)
        ax.set_title(AXES[axis].label)
        ax.set_xlabel("ratio of budgets")
    bound = Line2D([], [], ls="", marker=">", ms=6, color=GREY, label="bound only, one side is censored")
    legend(figure, [pair.arm for pair in paired], styles, [seed_handle(), bound])
    against = ", ".join(dict.fromkeys(pair.reference.name for pair in paired))
    caption = (
        f"Budget of each arm over that of its reference ({against}) to the same threshold, paired by seed."
        " Open dots are seeds, markers their geometric mean, bars the 95 % t-interval of its log (cut at "
        "the frame). Right of the line the arm needs more than its reference."
    )
    return Drawing("budget-ratios", caption, figure)


def _ratio(ax: Axes, pair: Comparison, goal: Threshold, axis: str, y: float, look: Look) -> list[float]:
    """Draw one pair at one threshold; returns the ratios and bounds drawn."""
    found = ratio(counted(pair.arm, goal, axis), counted(pair.reference, goal, axis), pair.seeds)
    interval = found.interval
    exact = list(found.exact.values())
    dots(ax, exact, interval if isinstance(interval, Interval) else None, y, look)
    for bounds, marker in ((found.at_least, ">"), (found.at_most, "<")):
        ax.plot(list(bounds.values()), [y] * len(bounds), ls="", marker=marker, ms=6, color=look.color)
    return [*exact, *found.at_least.values(), *found.at_most.values()]


def _ratio_axis(ax: Axes, seeds: Sequence[float]) -> None:
    """A log axis that holds every seed and 1/2 to 2, with few, plain labels."""
    low, high = min(seeds, default=1) / 1.3, max(seeds, default=1) * 1.3
    low, high = min(low, 0.45), max(high, 2.2)
    ax.set_xscale("log", base=2)
    ax.set_xlim(low, high)
    powers = np.arange(np.ceil(np.log2(low)), np.floor(np.log2(high)) + 1)
    step = max(1, -(-powers.size // 6))
    ticks = 2.0 ** powers[powers % step == 0]
    ax.set_xticks(ticks, [f"{tick:g}" if tick >= 1 else f"1/{1 / tick:g}" for tick in ticks])
    ax.xaxis.set_minor_locator(NullLocator())
