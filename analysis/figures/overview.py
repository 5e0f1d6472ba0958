"""The first figure of a report: the main yardsticks, and of one family also the supervision received."""

from __future__ import annotations

from matplotlib.axes import Axes

from analysis.figures.excess_loss import draw_excess
from analysis.figures.learning_curves import draw_targets, draw_yardstick
from analysis.figures.reference_lines import names
from analysis.figures.style import Drawing, chance_handle, legend, looks, panels, plain
from analysis.records.quantities import EXCESS, title
from analysis.records.results import Grid
from analysis.statistics.bayes_accuracy import ceilings, ceilings_of, is_calibrated

MOST = 2
"""Yardsticks shown of each family."""
WIDE = 48
"""Letters of a title that fit over a panel here."""


def overview(grid: Grid, axis: str, log: bool) -> Drawing:
    """Up to two main yardsticks against the budget; a row a family, or the supervision received of the only one."""
    return _one(grid, axis, log) if len(grid.families) == 1 else _several(grid, axis, log)


def headline(family: Grid) -> list[str]:
    """The yardsticks to show first: those that are set beside what is best possible, where that is known."""
    if is_calibrated(family):
        return [EXCESS, ceilings(family)[0].quantity]
    return family.main_yardsticks[-MOST:]


def _one(grid: Grid, axis: str, log: bool) -> Drawing:
    shown = headline(grid)
    figure, axes = panels(1, len(shown) + 1, width=4.0, height=3.0)
    for ax, quantity in zip(axes, shown, strict=False):
        _panel(grid, ax, quantity, axis, log)
    draw_targets(grid, axes[-1])
    axes[-1].set_title("supervision received")
    legend(figure, grid.arms, looks(grid), [chance_handle()] if _has_chance(grid) else [])
    right = "how many tokens each arm was asked to predict"
    left = "Left: scores that both objectives can be measured by. Right: " if shown else ""
    return Drawing("overview", f"{left}{right if shown else right.capitalize()}.", figure)


def _several(grid: Grid, axis: str, log: bool) -> Drawing:
    rows = [family for family in grid.families if headline(family)]
    figure, axes = panels(max(len(rows), 1), MOST, width=4.5, height=2.8)
    for ax in axes:
        ax.set_axis_off()
    for row, family in enumerate(rows):
        for ax, quantity in zip(axes[MOST * row :], headline(family), strict=False):
            ax.set_axis_on()
            _panel(family, ax, quantity, axis, log)
    arms = [arm for family in rows for arm in family.arms]
    legend(figure, arms, looks(grid), [chance_handle()] if any(map(_has_chance, rows)) else [])
    caption = (
        "Scores that both objectives can be measured by, a row for each data source: "
        f"{'; '.join(family.source for family in rows)}. Between rows nothing is compared."
    )
    return Drawing("overview", caption, figure)


def _panel(family: Grid, ax: Axes, quantity: str, axis: str, log: bool) -> None:
    if quantity == EXCESS:
        draw_excess(ax, family, axis)
    else:
        draw_yardstick(family, ax, quantity, axis, log)
    if known := ceilings_of(family, quantity):
        names(ax, known)
    ax.set_title(plain(family.prefix + title(quantity).removesuffix(", accuracy"), WIDE))


def _has_chance(family: Grid) -> bool:
    """Whether any panel of the family has a line of chance; those with ceilings do without."""
    shown = headline(family)
    return any(family.chance(q) is not None and ceilings_of(family, q) is None for q in shown)
