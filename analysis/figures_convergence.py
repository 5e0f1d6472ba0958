"""Figures of convergence: budget to each threshold by arm, and the ratio of budgets between paired arms."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import NullLocator

from analysis.cells import Arm
from analysis.compare import Comparison
from analysis.convergence import crossings, mean_budget, ratio
from analysis.figures import GREY, Drawing, Look, legend, looks, panels, plain
from analysis.figures_dots import dots, name_rows, seed_handle
from analysis.figures_lines import budget_axis
from analysis.load import Grid
from analysis.quantities import AXES, label
from analysis.statistics import Interval
from analysis.thresholds import Threshold

SPREAD = 0.26


def budgets(grid: Grid, goals: dict[str, list[Threshold]], axis: str) -> Drawing | None:
    """Budget to each threshold by arm, one panel a quantity; censored seeds are arrows."""
    shown = {quantity: found for quantity, found in goals.items() if found}
    if not shown:
        return None
    styles = looks(grid)
    tallest = max(map(len, shown.values()))
    figure, axes = panels(
        1, len(shown), width=max(3.9, 7.4 / len(shown)), height=0.9 + tallest * (0.35 + 0.17 * len(grid.arms))
    )
    for ax, (quantity, found) in zip(axes, shown.items(), strict=True):
        for row, goal in enumerate(found):
            for arm, shift in zip(grid.arms, _shifts(len(grid.arms)), strict=True):
                _crossings(ax, arm, goal, axis, row + shift, styles[arm.name])
        name_rows(ax, [f"{goal.value:.3f}" for goal in found])
        for row in range(1, len(found)):
            ax.axhline(row - 0.5, color="#E3E3E3", lw=0.8)
        ax.set_title(plain(label(quantity)))
        ax.set_ylabel("threshold")
        budget_axis(ax, axis, log=True)
    arrow = Line2D([], [], ls="", marker=">", ms=6, color=GREY, label="not reached by here")
    early = Line2D([], [], ls="", marker="<", ms=6, color=GREY, label="reached by the first snapshot")
    legend(figure, grid.arms, styles, [seed_handle(), arrow, early])
    caption = (
        f"Budget ({AXES[axis].label}) needed to reach each threshold, log scale: open dots are seeds, "
        f"markers their "
        "geometric mean with its 95 % t-interval (given only when every seed reached it), arrows are seeds "
        "of which "
        "only a bound is known."
    )
    return Drawing("budget-to-threshold", caption, figure)


def _shifts(count: int) -> list[float]:
    return (
        [0.0]
        if count == 1
        else [float(s) for s in np.linspace(-SPREAD, SPREAD, count) * min(1.4, 0.8 + count / 10)]
    )


def _crossings(ax: Axes, arm: Arm, goal: Threshold, axis: str, y: float, look: Look) -> None:
    found = crossings(arm, goal, axis)
    mean = mean_budget(found)
    reached = [c.budget for c in found.values() if c.kind == "reached"]
    dots(ax, reached, mean if isinstance(mean, Interval) else None, y, look)
    for crossing in found.values():
        if crossing.kind != "reached" and crossing.budget > 0:
            marker = "<" if crossing.kind == "early" else ">"
            ax.plot([crossing.budget], [y], ls="", marker=marker, ms=6, color=look.color)


def ratios(pairs: Sequence[Comparison], goals: dict[str, list[Threshold]], grid: Grid) -> Drawing | None:
    """Budget ratios by yardstick and threshold, one panel a budget; 1 is the line."""
    listed = [goal for found in goals.values() for goal in found]
    open_pairs = [pair for pair in pairs if pair.refusal is None]
    if not listed or not open_pairs:
        return None
    styles = looks(grid)
    height = 0.9 + len(listed) * (0.22 + 0.15 * len(open_pairs))
    figure, axes = panels(1, len(AXES), width=3.0, height=height)
    for i, (ax, axis) in enumerate(zip(axes, AXES, strict=True)):
        for row, goal in enumerate(listed):
            for pair, shift in zip(open_pairs, _shifts(len(open_pairs)), strict=True):
                sides = [crossings(one, goal, axis) for one in (pair.arm, pair.reference)]
                found = ratio(sides[0], sides[1], pair.seeds)
                look, y = styles[pair.arm.name], row + shift
                interval = found.interval
                dots(
                    ax,
                    list(found.exact.values()),
                    interval if isinstance(interval, Interval) else None,
                    y,
                    look,
                )
                for bounds, marker in ((found.at_least, ">"), (found.at_most, "<")):
                    ax.plot(
                        list(bounds.values()), [y] * len(bounds), ls="", marker=marker, ms=6, color=look.color
                    )
        ax.axvline(1, color=GREY, lw=1)
        name_rows(ax, [f"{label(g.quantity)} = {g.value:.3f}" if i == 0 else "" for g in listed])
        _ratio_axis(ax)
        ax.set_title(AXES[axis].label)
    reference = ", ".join(dict.fromkeys(pair.reference.name for pair in open_pairs))
    figure.supxlabel(plain(f"budget ratio to {reference} (log scale)"), fontsize=9)
    bound = Line2D([], [], ls="", marker=">", ms=6, color=GREY, label="bound: one side never or always there")
    legend(figure, [pair.arm for pair in open_pairs], styles, [seed_handle(), bound])
    caption = (
        "Budget of each arm over that of its reference to the same threshold, paired by seed: open dots are "
        "seeds, "
        "markers the geometric mean with the 95 % t-interval of its log. Right of the line the arm needs "
        "more than its reference."
    )
    return Drawing("budget-ratios", caption, figure)


def _ratio_axis(ax: Axes) -> None:
    """A log axis of ratios with few, plain labels, at least from 1/2 to 2."""
    ax.set_xscale("log", base=2)
    low, high = ax.get_xlim()
    low, high = max(min(low, 0.5), 2**-6), min(max(high, 2.0), 2**6)
    ax.set_xlim(low, high)
    powers = np.arange(np.ceil(np.log2(low)), np.floor(np.log2(high)) + 1)
    ticks = 2.0 ** powers[:: max(1, -(-powers.size // 6))]
    ax.set_xticks(ticks, [f"{tick:g}" if tick >= 1 else f"1/{1 / tick:g}" for tick in ticks])
    ax.xaxis.set_minor_locator(NullLocator())
