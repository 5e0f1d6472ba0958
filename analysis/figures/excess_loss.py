"""Figures beside what is best possible: excess over the lowest loss, and a probe below its ceilings."""

from __future__ import annotations

from matplotlib.axes import Axes

from analysis.figures.learning_curves import draw_yardstick, file_name, having
from analysis.figures.reference_lines import names
from analysis.figures.seeds import curves, draw_curves
from analysis.figures.style import Drawing, empty, legend, looks, panels, plain
from analysis.records.quantities import AXES, EXCESS, title
from analysis.records.results import Grid
from analysis.statistics.bayes_accuracy import Ceilings, ceilings


def excess(grid: Grid) -> Drawing | None:
    """Excess against tokens read and against supervised tokens, log–log."""
    arms = having(grid, EXCESS)
    if not arms:
        return None
    figure, axes = panels(1, 2, width=4.3, height=3.0)
    for ax, axis in zip(axes, ("tokens", "targets"), strict=True):
        draw_excess(ax, grid, axis)
        ax.set_title(f"against {AXES[axis].label}")
    legend(figure, arms, looks(grid))
    caption = (
        "Held-out loss less the lowest that is possible on the same questions, log–log: on this axis all objectives "
        "and mask rates can be compared. The mean over seeds is geometric, its 95 % t-interval that of the logs; a "
        "seed at or below 0, within its standard error, is not drawn and leaves a gap in the mean."
    )
    return Drawing("excess", caption, figure)


def probe(grid: Grid, known: Ceilings, log: bool) -> Drawing:
    """A probe's accuracy against tokens read, with its three ceilings."""
    figure, (ax,) = panels(1, 1, width=6.2, height=3.3)
    draw_yardstick(grid, ax, known.quantity, "tokens", log)
    names(ax, known)
    ax.set_title(plain(title(known.quantity)))
    legend(figure, having(grid, known.quantity), looks(grid))
    name = _name(known)
    caption = (
        f"Accuracy of the linear {name} probe, with the accuracy of the best possible guess from the token alone, from "
        "the past (no causal model can do better) and from both sides (no model at all can)."
    )
    return Drawing(f"{file_name(name)}-probe", caption, figure)


def calibrated(grid: Grid, log: bool) -> Drawing | None:
    """Left the distance to the best possible loss, right the first probe that has ceilings."""
    arms, known = having(grid, EXCESS), ceilings(grid)
    if not arms or not known:
        return None
    figure, axes = panels(1, 2, width=4.7, height=3.3)
    draw_excess(axes[0], grid, "tokens")
    axes[0].set_title("distance to the best possible loss")
    draw_yardstick(grid, axes[1], known[0].quantity, "tokens", log)
    names(axes[1], known[0])
    axes[1].set_title(plain(f"what the features know: {_name(known[0])} probe"))
    legend(figure, having(grid, EXCESS, known[0].quantity), looks(grid))
    caption = (
        "Left: nats per target above the best possible loss, on the one axis where objectives can be compared; lower "
        "is better. Right: accuracy of a linear probe on frozen features, below what the best possible guess reaches "
        "from the token alone, from the past and from both sides. Above the dashed line no causal model can be."
    )
    return Drawing("calibrated", caption, figure)


def _name(known: Ceilings) -> str:
    return known.quantity.split("/")[1]


def draw_excess(ax: Axes, grid: Grid, axis: str) -> None:
    """Excess against one budget, log–log, whatever the scale of the other curves."""
    if not draw_curves(ax, curves(grid.arms, EXCESS, axis), looks(grid), axis, True, log_y=True):
        empty(ax, "nothing above 0 recorded past budget 0")
    ax.set_ylabel("nats per target above the best possible")
