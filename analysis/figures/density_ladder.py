"""The figure of scores over supervision density, at equal tokens and at equal compute."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.ticker import NullLocator

from analysis.figures.arm_styles import arm_styles, draw_legend
from analysis.figures.style import Drawing, explain_empty, panels, plain
from analysis.records.labels import AXES, unit_and_direction
from analysis.records.results import Results
from analysis.statistics.density import LADDER, density_ladder
from experiments.records.quantities import Quantity

APART = 1.15
"""Densities whose ratio is smaller share a tick."""


def density_ladder_figure(group: Results, quantities: Sequence[Quantity]) -> Drawing | None:
    """A row for each quantity: its scores over targets per token, at equal tokens on the left, FLOPs on the right."""
    ladders = {quantity: density_ladder(group.arms, quantity, LADDER) for quantity in quantities}
    shown = [quantity for quantity, ladder in ladders.items() if len(ladder) > 2]
    if not shown:
        return None
    styles = arm_styles(group)
    figure, axes = panels(len(shown) * len(LADDER), len(LADDER), width=4.4)
    places = ((quantity, axis) for quantity in shown for axis in LADDER)
    for ax, (quantity, axis) in zip(axes, places, strict=True):
        found = {arm: rung for arm, rung in ladders[quantity].items() if axis in rung.scores}
        if not found:
            explain_empty(ax, "no common budget")
            continue
        for arm, rung in found.items():
            style, score = styles[arm.name], rung.scores[axis]
            if score.low is not None and score.high is not None:
                ax.plot([rung.density] * 2, [score.low, score.high], color=style.color, lw=1.6)
            ax.plot([rung.density], [score.mean], style.marker, ms=7, color=style.color, mec="white", mew=0.6)
        if quantity.scale == "log" and all(rung.scores[axis].mean > 0 for rung in found.values()):
            ax.set_yscale("log")
        _density_axis(ax, sorted(rung.density for rung in found.values()))
        ax.set_title(f"{plain(quantity.label)}, at equal {AXES[axis].label}")
        ax.set_ylabel(unit_and_direction(quantity))
    draw_legend(figure, group.arms, group)
    caption = (
        "The ladder of supervision density: scores over the targets for each token read, at the largest budget that "
        "every finished run has spent. Markers are means over seeds, bars 95 % intervals. What a token costs in FLOPs "
        "rises with density, so at equal FLOPs dense objectives have read fewer tokens."
    )
    return Drawing("density-ladder", caption, figure)


def _density_axis(ax: Axes, densities: Sequence[float]) -> None:
    """A log axis with a tick at every density, but for those that lie too near to another."""
    ticks: list[float] = []
    for density in densities:
        if not ticks or density > ticks[-1] * APART:
            ticks.append(density)
    ax.set_xscale("log")
    ax.set_xticks(ticks, [f"{100 * density:.3g} %" for density in ticks])
    ax.xaxis.set_minor_locator(NullLocator())
    ax.set_xlabel("targets per token read")
