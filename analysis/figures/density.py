"""Figures of supervision density: targets so far, per token and per FLOP; and scores over density, at equal budgets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, MaxNLocator, NullLocator

from analysis.figures.arm_styles import arm_styles, draw_legend, row_names
from analysis.figures.panels import LEFT, Stroke, draw_strokes, explain_empty, panels
from analysis.figures.seeds import NARROW, beside, draw_curves, log_values, name_rows, seed_handle
from analysis.figures.style import Drawing, plain
from analysis.records.labels import AXES, unit_and_direction
from analysis.records.results import Results
from analysis.records.run_records import RunRecords
from analysis.statistics.curves import Curve
from analysis.statistics.density import LADDER, Ladder, density
from analysis.tables.table import si
from experiments.records.quantities import Quantity

APART = 1.15
"""Densities whose ratio is smaller share a tick."""


def density_figure(group: Results) -> Drawing | None:
    """Cumulative targets, nominal against realised density, and targets per FLOP."""
    found = {arm.name: [d for d in map(density, arm.runs) if d is not None] for arm in group.arms}
    if not any(found.values()):
        return None
    styles = arm_styles(group)
    names = row_names(group.arms)
    height, left = max(2.7, 1.0 + 0.3 * len(group.arms)), [LEFT, beside(names), NARROW]
    figure, (targets, per_token, per_flop) = panels(3, 3, width=3.9, height=height, left=left)
    draw_targets(targets, group)
    targets.set_title("supervision received")
    colors = [styles[name].color for name in found]
    _draw_bars(per_token, [[d.realised for d in runs] for runs in found.values()], colors)
    yields = [[d.per_gigaflop for d in runs if d.per_gigaflop is not None] for runs in found.values()]
    _draw_bars(per_flop, yields, colors)
    nominal = [next((d.nominal for d in runs if d.nominal is not None), None) for runs in found.values()]
    known = [[(x, y - 0.38), (x, y + 0.38)] for y, x in enumerate(nominal) if x is not None]
    draw_strokes(per_token, [Stroke(ends, "black") for ends in known], lw=2)
    name_rows(per_token, names)
    name_rows(per_flop, [""] * len(found))
    for ax in (per_token, per_flop):
        ax.set_xlim(left=0)
        ax.xaxis.set_major_locator(MaxNLocator(5))
        ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    per_token.set_title("density")
    per_token.set_xlabel("targets per token read")
    per_flop.set_title("yield")
    per_flop.set_xlabel("targets per 10⁹ FLOPs")
    if not any(yields):
        explain_empty(per_flop, "no FLOPs recorded")
    nominal_handle = Line2D([], [], ls="", marker="|", ms=11, mew=2, color="black", label="nominal")
    draw_legend(figure, [], group, [seed_handle(), nominal_handle])
    caption = (
        "Supervision: cumulative targets; realised density (bars, dots are seeds) against nominal; and targets for the "
        "compute spent."
    )
    return Drawing("density", caption, figure)


def _draw_bars(ax: Axes, rows: Sequence[Sequence[float]], colors: Sequence[str]) -> None:
    """The mean of each row as a bar, the seeds as dots."""
    bars = [(y, float(np.mean(values)), colors[y]) for y, values in enumerate(rows) if values]
    if bars:
        at, means, of = zip(*bars, strict=True)
        ax.barh(at, means, height=0.55, color=of, alpha=0.75)
    dots = [Stroke([(value, y) for value in values], colors[y], "", "o") for y, values in enumerate(rows)]
    draw_strokes(ax, dots, ms=3.5, mfc="white")


def draw_targets(ax: Axes, group: Results) -> None:
    """Cumulative supervised tokens against tokens read, on linear axes."""
    curves = {arm.name: [curve for run in arm.runs if (curve := _targets(run)) is not None] for arm in group.arms}
    if not draw_curves(ax, curves, arm_styles(group), "tokens", log=False, marks=False):
        explain_empty(ax, "nothing recorded yet")
        return
    ax.set_ylim(bottom=0)
    ax.set_ylabel(f"cumulative {AXES['targets'].label}")
    ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: si(value)))


def _targets(run: RunRecords) -> Curve | None:
    """Targets over tokens as the quantity recorded most often saw them, from the origin on."""
    longest = max(run.series.values(), key=lambda series: series.tokens.size, default=None)
    if longest is None or not longest.tokens.size:
        return None
    origin = [0.0] if longest.tokens[0] > 0 else []
    tokens, targets = np.r_[origin, longest.tokens], np.r_[origin, longest.targets]
    return Curve(run.seed, tokens, targets, run.finished, np.zeros(tokens.size))


def density_ladder_figure(group: Results, ladders: Mapping[Quantity, Ladder]) -> Drawing | None:
    """A row for each quantity: its scores over targets per token, at equal tokens on the left, FLOPs on the right."""
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
        means = [rung.scores[axis].mean for rung in found.values()]
        if quantity.scale == "log" and min(means) > 0:
            log_values(ax, min(means), max(means), 0.12)
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
    for place in densities:
        if not ticks or place > ticks[-1] * APART:
            ticks.append(place)
    ax.set_xscale("log")
    ax.set_xticks(ticks, [f"{100 * place:.3g} %" for place in ticks])
    ax.xaxis.set_minor_locator(NullLocator())
    ax.set_xlabel("targets per token read")
