"""Figures of numbers by arm: final scores, supervision density, and scores by mask rate."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, MaxNLocator

from analysis.figures.dots import dots, name_rows, seed_handle
from analysis.figures.learning_curves import draw_targets
from analysis.figures.reference_lines import handles, levels
from analysis.figures.style import Drawing, chance_handle, empty, legend, looks, panels, plain, reference_line
from analysis.records.quantities import lower_is_better, title, unit
from analysis.records.results import Grid
from analysis.records.run_records import Arm
from analysis.statistics.bayes_accuracy import ceilings, ceilings_of
from analysis.statistics.density import Density, density
from analysis.statistics.intervals import t_interval


def final_scores(grid: Grid, quantities: Sequence[str]) -> Drawing | None:
    """Final score by arm, one panel a quantity."""
    if not any(arm.finals(q) for arm in grid.arms for q in quantities):
        return None
    styles = looks(grid)
    columns = min(len(quantities), 3)
    count = -(-len(quantities) // columns)
    beside = handles() if ceilings(grid) else []
    figure, axes = panels(count, columns, width=3.9, height=0.9 + 0.3 * len(grid.arms) + 0.13 * len(beside))
    for ax in axes[len(quantities) :]:
        ax.set_axis_off()
    for i, (ax, quantity) in enumerate(zip(axes, quantities, strict=False)):
        seeds = []
        for y, arm in enumerate(grid.arms):
            scores = list(arm.finals(quantity).values())
            seeds += scores
            dots(ax, scores, t_interval(scores) if scores else None, y, styles[arm.name])
        known = ceilings_of(grid, quantity)
        floor = grid.chance(quantity) if known is None else None
        if floor is not None:
            reference_line(ax, floor, vertical=True)
            seeds.append(floor)
        if seeds:
            margin = 0.12 * (max(seeds) - min(seeds)) or 0.05
            ax.set_xlim(min(seeds) - margin, max(seeds) + margin)
        if known is not None:
            levels(ax, known, vertical=True)
        name_rows(ax, [arm.name for arm in grid.arms] if i % columns == 0 else [""] * len(grid.arms))
        ax.xaxis.set_major_locator(MaxNLocator(5))
        ax.set_title(plain(title(quantity)))
        ax.set_xlabel(f"{unit(quantity)}, less is better" if lower_is_better(quantity) else "final score")
    chance = [chance_handle()] if any(grid.chance(q) and not ceilings_of(grid, q) for q in quantities) else []
    legend(figure, grid.arms, styles, [seed_handle(), *chance, *beside])
    caption = (
        "Final scores of finished runs: open dots are seeds, markers their mean, bars its 95 % t-interval "
        "(cut at the frame)."
    )
    return Drawing("final-scores", caption, figure)


def densities(grid: Grid) -> Drawing | None:
    """Cumulative targets, nominal against realised density, and targets per FLOP."""
    found: dict[str, list[Density]] = {
        arm.name: [d for d in map(density, arm.cells) if d is not None] for arm in grid.arms
    }
    if not any(found.values()):
        return None
    styles = looks(grid)
    figure, axes = panels(1, 3, width=3.9, height=max(2.7, 1.0 + 0.3 * len(grid.arms)))
    draw_targets(grid, axes[0])
    axes[0].set_title("supervision received")
    for y, arm in enumerate(grid.arms):
        look, runs = styles[arm.name], found[arm.name]
        for ax, values in (
            (axes[1], [d.realised for d in runs]),
            (axes[2], [d.per_gigaflop for d in runs if d.per_gigaflop is not None]),
        ):
            if values:
                ax.barh(y, float(np.mean(values)), height=0.55, color=look.color, alpha=0.75)
                ax.plot(values, [y] * len(values), ls="", marker="o", ms=3.5, mfc="white", mec=look.color)
        nominal = next((d.nominal for d in runs if d.nominal is not None), None)
        if nominal is not None:
            axes[1].plot([nominal] * 2, [y - 0.38, y + 0.38], color="black", lw=2)
    name_rows(axes[1], [arm.name for arm in grid.arms])
    name_rows(axes[2], [""] * len(grid.arms))
    for ax in axes[1:]:
        ax.set_xlim(left=0)
        ax.xaxis.set_major_locator(MaxNLocator(5))
        ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes[1].set_title("density")
    axes[1].set_xlabel("targets per token read")
    axes[2].set_title("yield")
    axes[2].set_xlabel("targets per 10⁹ FLOPs")
    if not axes[2].patches:
        empty(axes[2], "no FLOPs recorded")
    nominal_handle = Line2D([], [], ls="", marker="|", ms=11, mew=2, color="black", label="nominal")
    legend(figure, grid.arms, styles, [seed_handle(), nominal_handle])
    caption = (
        "Supervision: cumulative targets; realised density (bars, dots are seeds) against nominal; and "
        "targets for the compute spent."
    )
    return Drawing("density", caption, figure)


def by_mask_rate(grid: Grid, arms: Sequence[Arm], quantities: Sequence[str]) -> Drawing | None:
    """Final score against the mask rate, one panel a quantity; a CLM arm is a level line."""
    shown = [q for q in quantities if any(arm.finals(q) for arm in arms)]
    if not shown:
        return None
    styles = looks(grid)
    columns = min(len(shown), 3)
    figure, axes = panels(-(-len(shown) // columns), columns, width=3.8)
    for ax in axes[len(shown) :]:
        ax.set_axis_off()
    level = [arm for arm in grid.arms if arm.objective == "CLM"]
    for ax, quantity in zip(axes, shown, strict=False):
        seeds: list[float] = []
        for arm in arms:
            scores, look = list(arm.finals(quantity).values()), styles[arm.name]
            if not scores or arm.mask_rate is None:
                continue
            seeds += scores
            mean, rate = t_interval(scores), 100 * arm.mask_rate
            ax.plot([rate] * len(scores), scores, ls="", marker="o", ms=4, mfc="none", mec=look.color, alpha=0.7)
            if mean.low is not None and mean.high is not None:
                ax.plot([rate, rate], [mean.low, mean.high], color=look.color, lw=1.6)
            ax.plot([rate], [mean.mean], ls="", marker=look.marker, ms=6.5, color=look.color, mec="white", mew=0.6)
        for arm in level:
            if scores := list(arm.finals(quantity).values()):
                ax.axhline(float(np.mean(scores)), color=styles[arm.name].color, lw=1.4)
                seeds += scores
        margin = 0.12 * (max(seeds) - min(seeds)) or 0.05
        ax.set_ylim(min(seeds) - margin, max(seeds) + margin)
        ax.set_xlim(0, 100 * max(arm.mask_rate or 0.0 for arm in arms) + 5)
        ax.set_xlabel("mask rate in training (%)")
        ax.set_ylabel(unit(quantity))
        ax.set_title(plain(title(quantity)))
    legend(figure, [*level, *arms], styles, [seed_handle()])
    caption = (
        "Final score against the mask rate of training. Open dots are seeds, markers their mean, bars its"
        " 95 % "
        "t-interval (cut at the frame)" + ("; the level line is the mean of the CLM arm." if level else ".")
    )
    return Drawing("mask-rate", caption, figure)
