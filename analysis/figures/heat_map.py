"""Figures of final scores over two numeric factors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm, Normalize
from matplotlib.patches import Rectangle

from analysis.figures.panels import explain_empty, panels
from analysis.figures.style import Drawing, plain
from analysis.records.labels import unit_and_direction
from analysis.records.results import Results
from analysis.records.run_records import Missing
from analysis.statistics.factor_effects import Surface, best_setting
from analysis.statistics.intervals import Interval, interval_of, log_interval_of
from analysis.statistics.item_errors import final_scores
from experiments.records.quantities import Quantity

COLORS = colormaps["viridis"]
DARK = 0.55
"""Up to this share of the colours white text is read better than black."""


def heat_map_figure(group: Results, surface: Surface, quantities: Sequence[Quantity]) -> Drawing | None:
    """Mean final scores by the settings of two factors, a panel for each quantity; the best, and what cannot be told
    from it, are marked."""
    shown = [quantity for quantity in quantities if any(arm.final_scores(quantity) for arm in surface.arms.values())]
    if not shown:
        return None
    rows, columns = (sorted({cell[i] for cell in surface.arms}) for i in (0, 1))
    width, height = 1.6 + 0.75 * len(columns), 1.0 + 0.5 * len(rows)
    figure, axes = panels(len(shown), 3, width=max(3.4, width), height=max(2.6, height))
    for ax, quantity in zip(axes, shown, strict=True):
        _draw(ax, surface, quantity, rows, columns)
    one, other = surface.factors
    slug = f"{one.slug}-{other.slug}" + (f"-{surface.context}" if surface.context else "")
    caption = (
        f"Final scores of {surface.name} by {one.name} and {other.name}: mean over seeds, and how many; darker is "
        "worse. The best cell is framed; those marked ≈ have a paired difference to it whose 95 % interval holds 0. "
        "Cells without a number have no finished run."
    )
    return Drawing("".join(c if c.isalnum() or c in ".-" else "-" for c in slug), caption, figure)


def _draw(ax: Axes, surface: Surface, quantity: Quantity, rows: Sequence[Any], columns: Sequence[Any]) -> None:
    measured = {cell: list(final_scores(arm, quantity).values()) for cell, arm in surface.arms.items()}
    log = quantity.scale == "log" and all(one.value > 0 for some in measured.values() for one in some)
    means = {cell: (log_interval_of if log else interval_of)(some) for cell, some in measured.items() if some}
    ax.set_title(f"{plain(quantity.label)} ({unit_and_direction(quantity)})", fontsize=8.5)
    ax.grid(False)
    if not means:
        explain_empty(ax, "no finished run")
        return
    grid = np.full((len(rows), len(columns)), np.nan)
    for (row, column), mean in means.items():
        grid[rows.index(row), columns.index(column)] = mean.mean
    colors = COLORS if quantity.better == "higher" else COLORS.reversed()
    norm = (LogNorm if log else Normalize)(float(np.nanmin(grid)), float(np.nanmax(grid)))
    ax.imshow(grid, cmap=colors, norm=norm, origin="lower", aspect="auto")
    best = best_setting(surface.arms, quantity)
    for cell, mean in means.items():
        place = columns.index(cell[1]), rows.index(cell[0])
        alike = not isinstance(best, Missing) and cell in best.alike
        dark = float(np.dot(colors(norm(mean.mean))[:3], (0.3, 0.6, 0.1))) < DARK
        ax.annotate(
            _text(mean, alike), place, color="white" if dark else "black", ha="center", va="center", fontsize=7.5
        )
        if not isinstance(best, Missing) and cell == best.setting:
            ax.add_patch(Rectangle((place[0] - 0.47, place[1] - 0.47), 0.94, 0.94, fill=False, lw=2, ec="#D55E00"))
    one, other = surface.factors
    ax.set_xticks(range(len(columns)), [other.text(setting) for setting in columns])
    ax.set_yticks(range(len(rows)), [one.text(setting) for setting in rows])
    ax.set_xlabel(other.name)
    ax.set_ylabel(one.name)


def _text(mean: Interval, alike: bool) -> str:
    return f"{'≈ ' if alike else ''}{mean.mean:.3g}\nn = {mean.n}"
