"""The figure of supervision density: targets so far, targets per token, targets per FLOP."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, MaxNLocator

from analysis.figures.arm_styles import arm_styles, draw_legend, row_names
from analysis.figures.panels import LEFT, Stroke, draw_strokes, explain_empty, panels
from analysis.figures.seeds import NARROW, beside, draw_curves, name_rows, seed_handle
from analysis.figures.style import Drawing
from analysis.records.labels import AXES
from analysis.records.results import Results
from analysis.records.run_records import RunRecords
from analysis.statistics.curves import Curve
from analysis.statistics.density import density
from analysis.tables.table import si


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
