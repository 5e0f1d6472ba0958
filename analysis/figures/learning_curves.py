"""Figures of curves: yardsticks on four budgets, own losses, losses at common mask rates."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter

from analysis.figures.reference_lines import handles, levels
from analysis.figures.seeds import curves, draw_curves
from analysis.figures.style import GREY, Drawing, chance_handle, empty, legend, looks, panels, plain, reference_line
from analysis.records.quantities import AXES, FLOOR, LOSS, label, mask_rate_of, rates, sentence, unit
from analysis.records.results import Grid
from analysis.records.run_records import Arm, Cell
from analysis.statistics.bayes_accuracy import ceilings_of
from analysis.statistics.curves import Line
from analysis.tables.table import si

OWN = ("train/loss", LOSS)
DOTTED: Any = (0, (1, 2))


def file_name(quantity: str) -> str:
    """A quantity as part of a file's name."""
    return re.sub(r"[^A-Za-z0-9._@-]+", "-", quantity).strip("-.") or "quantity"


def yardstick(grid: Grid, quantity: str, log: bool) -> Drawing:
    """One yardstick against tokens read, supervised tokens, FLOPs and seconds."""
    figure, axes = panels(2, 2, width=4.3)
    for ax, axis in zip(axes, AXES, strict=True):
        draw_yardstick(grid, ax, quantity, axis, log)
        ax.set_title(f"against {AXES[axis].label}")
    chance = [chance_handle()] if grid.chance(quantity) is not None else []
    extra = handles() if ceilings_of(grid, quantity) else chance
    legend(figure, having(grid, quantity), looks(grid), extra)
    return Drawing(f"curves-{file_name(quantity)}", f"{sentence(label(quantity))}.", figure)


def having(grid: Grid, *quantities: str) -> list[Arm]:
    """The arms that have recorded any of some quantities."""
    return [arm for arm in grid.arms if any(q in cell.series for cell in arm.cells for q in quantities)]


def draw_yardstick(grid: Grid, ax: Axes, quantity: str, axis: str, log: bool) -> None:
    """One yardstick against one budget, with its ceilings, or else the line of chance, where known."""
    if not draw_curves(ax, curves(grid.arms, quantity, axis), looks(grid), axis, log):
        empty(ax, "nothing recorded past budget 0")
    known, floor = ceilings_of(grid, quantity), grid.chance(quantity)
    if known is not None:
        levels(ax, known)
    elif floor is not None:
        reference_line(ax, floor)
        low, high = ax.get_ylim()
        if floor < low:
            ax.set_ylim(floor - 0.05 * (high - floor), high)
    ax.set_ylabel(unit(quantity))


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
            elif quantity == LOSS:
                _floors(ax, grid, arms)
            ax.set_title(plain(f"{objective}: {'training' if quantity == 'train/loss' else 'held-out'} loss"))
            ax.set_ylabel("nats per target")
    lowest = Line2D([], [], color=GREY, lw=1.2, ls=DOTTED, label="best possible")
    legend(figure, grid.arms, looks(grid), [lowest] if FLOOR in grid.quantities else [])
    caption = (
        "Each arm's loss on its own question, drawn apart: the panels must not be compared across "
        "objectives. Predicting the next token from the left and filling a gap from both sides are "
        "different questions. Within one objective, only arms with the same mask rate and corruption mix "
        "are asked the same."
    )
    return Drawing("own-losses", caption, figure)


def _floors(ax: Axes, grid: Grid, arms: list[Arm]) -> None:
    """The lowest loss possible on each arm's question, where it is known."""
    for arm in arms:
        values = [c.series[FLOOR].values[-1] for c in arm.cells if FLOOR in c.series and c.series[FLOOR].values.size]
        if not values:
            continue
        floor = float(np.mean(values))
        ax.axhline(floor, color=looks(grid)[arm.name].color, lw=1.2, ls=DOTTED)
        low, high = ax.get_ylim()
        ax.set_ylim(min(low, floor - 0.05 * (high - floor)), high)


def common_rates(grid: Grid) -> Drawing | None:
    """Held-out loss of the MLM arms at the same mask rates for all, 80/10/10: one panel a rate."""
    found = rates(grid.quantities)
    arms = having(grid, *found)
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
