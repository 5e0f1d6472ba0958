"""Figures of curves: overview, yardsticks on four budgets, own losses, losses at common mask rates."""

from __future__ import annotations

import re

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter

from analysis.cells import Arm, Cell
from analysis.curves import Line
from analysis.figures import Drawing, chance_handle, empty, legend, looks, panels, plain, reference_line
from analysis.figures_lines import curves, draw_curves
from analysis.load import Grid
from analysis.quantities import AXES, label, mask_rate_of, rates, sentence
from analysis.tables import si

OWN = ("train/nats", "held_out/nats")


def file_name(quantity: str) -> str:
    """A quantity as part of a file's name."""
    return re.sub(r"[^A-Za-z0-9._@-]+", "-", quantity).strip("-.") or "quantity"


def overview(grid: Grid, axis: str, log: bool) -> Drawing:
    """Up to two main yardsticks against the budget, and how many targets each arm has been asked."""
    shown = grid.main_yardsticks[-2:]
    styles = looks(grid)
    figure, axes = panels(1, len(shown) + 1, width=4.0, height=3.0)
    for ax, quantity in zip(axes, shown, strict=False):
        _yardstick(grid, ax, quantity, axis, log)
        ax.set_title(plain(label(quantity)))
    draw_targets(grid, axes[-1])
    axes[-1].set_title("supervision received")
    legend(figure, grid.arms, styles, [chance_handle()] if shown else [])
    right = "how many tokens each arm was asked to predict"
    left = "Left: scores that both objectives can be measured by. Right: " if shown else ""
    return Drawing("overview", f"{left}{right if shown else right.capitalize()}.", figure)


def yardstick(grid: Grid, quantity: str, log: bool) -> Drawing:
    """One yardstick against tokens read, supervised tokens, FLOPs and seconds."""
    figure, axes = panels(2, 2, width=4.3)
    for ax, axis in zip(axes, AXES, strict=True):
        _yardstick(grid, ax, quantity, axis, log)
        ax.set_title(f"against {AXES[axis].label}")
    known = grid.chance(quantity) is not None
    legend(figure, grid.arms, looks(grid), [chance_handle()] if known else [])
    return Drawing(f"curves-{file_name(quantity)}", f"{sentence(label(quantity))}.", figure)


def _yardstick(grid: Grid, ax: Axes, quantity: str, axis: str, log: bool) -> None:
    if not draw_curves(ax, curves(grid.arms, quantity, axis), looks(grid), axis, log):
        empty(ax, "nothing recorded past budget 0")
    floor = grid.chance(quantity)
    if floor is not None:
        reference_line(ax, floor)
        low, high = ax.get_ylim()
        if floor < low:
            ax.set_ylim(floor - 0.05 * (high - floor), high)
    ax.set_ylabel("macro F1" if quantity.endswith("/f1") else "accuracy")


def own_losses(grid: Grid) -> Drawing | None:
    """Training and held-out loss on each objective's own question: a column an objective, y-axes apart."""
    recorded = [q for q in OWN if q in grid.quantities]
    objectives = list(dict.fromkeys(arm.objective for arm in grid.arms))
    if not recorded:
        return None
    figure, axes = panels(len(recorded), len(objectives), width=4.3)
    for row, quantity in enumerate(recorded):
        for column, objective in enumerate(objectives):
            ax = axes[row * len(objectives) + column]
            arms = [arm for arm in grid.arms if arm.objective == objective]
            if not draw_curves(ax, curves(arms, quantity, "tokens"), looks(grid), "tokens", True, marks=False):
                empty(ax, "nothing recorded yet")
            ax.set_title(plain(f"{objective}: {'training' if quantity == 'train/nats' else 'held-out'} loss"))
            ax.set_ylabel("nats per target")
    legend(figure, grid.arms, looks(grid))
    caption = (
        "Each arm's loss on its own question, drawn apart: the panels must not be compared across "
        "objectives. Predicting the next token from the left and filling a gap from both sides are "
        "different questions. Within one objective, only arms with the same mask rate and corruption mix "
        "are asked the same."
    )
    return Drawing("own-losses", caption, figure)


def common_rates(grid: Grid) -> Drawing | None:
    """Held-out loss of the MLM arms at the same mask rates for all, 80/10/10: one panel a rate."""
    found = rates(grid.quantities)
    arms = [arm for arm in grid.arms if any(q in cell.series for cell in arm.cells for q in found)]
    if not found:
        return None
    figure, axes = panels(1, len(found), width=3.9)
    for ax, quantity in zip(axes, found, strict=True):
        if not draw_curves(ax, curves(arms, quantity, "tokens"), looks(grid), "tokens", True):
            empty(ax, "nothing recorded past budget 0")
        ax.set_title(f"{100 * (mask_rate_of(quantity) or 0):g} % of positions masked")
        ax.set_ylabel("held-out nats per target")
    legend(figure, arms, looks(grid))
    caption = (
        "Held-out loss of the MLM arms on common questions: the same masks for every arm, whatever it was"
        " trained with. Comparable among these arms within a panel."
    )
    return Drawing("common-mask-rates", caption, figure)


def draw_targets(grid: Grid, ax: Axes) -> None:
    """Cumulative supervised tokens against tokens read, on linear axes."""
    if not draw_curves(ax, _targets(grid.arms), looks(grid), "tokens", log=False, marks=False):
        empty(ax, "nothing recorded yet")
        return
    ax.set_ylim(bottom=0)
    ax.set_ylabel(f"cumulative {AXES['targets'].label}")
    ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: si(value)))


def _targets(arms: tuple[Arm, ...]) -> dict[str, list[Line]]:
    return {arm.name: [line for cell in arm.cells if (line := _target_line(cell)) is not None] for arm in arms}


def _target_line(cell: Cell) -> Line | None:
    if not cell.series:
        return None
    longest = max(cell.series.values(), key=lambda series: series.tokens.size)
    if not longest.tokens.size:
        return None
    x, y = np.r_[0.0, longest.tokens], np.r_[0.0, longest.targets]
    return (
        Line(cell.seed, x, y, cell.finished) if longest.tokens[0] > 0 else Line(cell.seed, x[1:], y[1:], cell.finished)
    )
