"""Figures of learning curves: one shared metric against each of the four budgets."""

from __future__ import annotations

import re

from matplotlib.axes import Axes

from analysis.figures.arm_styles import arm_styles, draw_legend
from analysis.figures.reference_lines import draw_reference_lines, reference_handles
from analysis.figures.seeds import curves_by_arm, draw_curves
from analysis.figures.style import Drawing, explain_empty, panels
from analysis.records.quantities import AXES, capitalised, label, unit
from analysis.records.results import Results
from analysis.records.run_records import Arm


def learning_curves_figure(group: Results, quantity: str, log: bool) -> Drawing:
    """One shared metric against tokens read, supervised tokens, FLOPs and seconds."""
    figure, axes = panels(len(AXES), 2, width=4.3)
    for ax, axis in zip(axes, AXES, strict=True):
        draw_shared_metric(ax, group, quantity, axis, log)
        ax.set_title(f"against {AXES[axis].label}")
    draw_legend(figure, arms_with(group, quantity), group, reference_handles(group, quantity))
    return Drawing(f"curves-{file_name(quantity)}", f"{capitalised(label(quantity))}.", figure)


def draw_shared_metric(ax: Axes, group: Results, quantity: str, axis: str, log: bool) -> None:
    """One shared metric against one budget, with the lines that it is read against."""
    if not draw_curves(ax, curves_by_arm(group.arms, quantity, axis), arm_styles(group), axis, log):
        explain_empty(ax, "nothing recorded past budget 0")
    draw_reference_lines(ax, group, quantity)
    ax.set_ylabel(unit(quantity))


def arms_with(group: Results, *quantities: str) -> list[Arm]:
    """The arms that have recorded any of some quantities."""
    return [arm for arm in group.arms if any(q in run.series for run in arm.runs for q in quantities)]


def file_name(quantity: str) -> str:
    """A quantity as part of a file's name."""
    return re.sub(r"[^A-Za-z0-9._@-]+", "-", quantity).strip("-.") or "quantity"
