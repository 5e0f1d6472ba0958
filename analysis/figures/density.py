"""The figure of supervision density: targets so far, targets per token, targets per FLOP."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, MaxNLocator

from analysis.figures.arm_styles import ArmStyle, arm_styles, draw_legend
from analysis.figures.seeds import draw_curves, name_rows, seed_handle
from analysis.figures.style import Drawing, explain_empty, panels
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
    figure, (targets, per_token, per_flop) = panels(3, 3, width=3.9, height=max(2.7, 1.0 + 0.3 * len(group.arms)))
    draw_targets(targets, group)
    targets.set_title("supervision received")
    for y, (name, runs) in enumerate(found.items()):
        _draw_bar(per_token, [d.realised for d in runs], y, styles[name])
        _draw_bar(per_flop, [d.per_gigaflop for d in runs if d.per_gigaflop is not None], y, styles[name])
        nominal = next((d.nominal for d in runs if d.nominal is not None), None)
        if nominal is not None:
            per_token.plot([nominal] * 2, [y - 0.38, y + 0.38], color="black", lw=2)
    name_rows(per_token, list(found))
    name_rows(per_flop, [""] * len(found))
    for ax in (per_token, per_flop):
        ax.set_xlim(left=0)
        ax.xaxis.set_major_locator(MaxNLocator(5))
        ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    per_token.set_title("density")
    per_token.set_xlabel("targets per token read")
    per_flop.set_title("yield")
    per_flop.set_xlabel("targets per 10⁹ FLOPs")
    if not per_flop.patches:
        explain_empty(per_flop, "no FLOPs recorded")
    nominal_handle = Line2D([], [], ls="", marker="|", ms=11, mew=2, color="black", label="nominal")
    draw_legend(figure, group.arms, group, [seed_handle(), nominal_handle])
    caption = (
        "Supervision: cumulative targets; realised density (bars, dots are seeds) against nominal; and targets for the "
        "compute spent."
    )
    return Drawing("density", caption, figure)


def _draw_bar(ax: Axes, values: Sequence[float], y: int, style: ArmStyle) -> None:
    """The mean as a bar, the seeds as dots."""
    if values:
        ax.barh(y, float(np.mean(values)), height=0.55, color=style.color, alpha=0.75)
        ax.plot(values, [y] * len(values), ls="", marker="o", ms=3.5, mfc="white", mec=style.color)


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
