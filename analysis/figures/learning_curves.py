"""Figures of learning curves: what arms are compared by, against the budgets."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from analysis.figures.arm_styles import arm_styles, draw_legend
from analysis.figures.levels import draw_levels
from analysis.figures.panels import explain_empty, panels
from analysis.figures.seeds import curves_by_arm, draw_curves
from analysis.figures.style import Drawing, plain
from analysis.records.labels import AXES, capitalised, unit_and_direction, with_unit
from analysis.records.results import Results
from analysis.records.run_records import Arm
from analysis.tables.table import file_name
from experiments.records.quantities import Quantity


def by_figure(quantities: Sequence[Quantity]) -> dict[str, list[Quantity]]:
    """The quantities by the figure that they share."""
    found: dict[str, list[Quantity]] = {}
    for quantity in quantities:
        found.setdefault(file_name(quantity.figure or quantity.name), []).append(quantity)
    return found


def learning_curves_figure(group: Results, name: str, quantities: Sequence[Quantity], log: bool) -> Drawing:
    """One shared metric against tokens read, supervised tokens, FLOPs and seconds; or several against tokens read."""
    if len(quantities) == 1:
        shown = [(quantities[0], axis) for axis in AXES]
        titles = [f"against {axis.label}" for axis in AXES.values()]
    else:
        shown = [(quantity, "tokens") for quantity in quantities]
        titles = [plain(quantity.label) for quantity in quantities]
    figure, axes = panels(len(shown), 3 if len(shown) > 4 else 2, width=4.3)
    handles: list[Line2D] = []
    for ax, (quantity, axis), title in zip(axes, shown, titles, strict=True):
        handles += draw_shared_metric(ax, group, quantity, axis, log)
        ax.set_title(title)
    draw_legend(figure, arms_with(group, *quantities), group, handles)
    labels = "; ".join(dict.fromkeys(with_unit(quantity) for quantity in quantities))
    descriptions = dict.fromkeys(quantity.description for quantity in quantities if quantity.description)
    return Drawing(f"curves-{name}", " ".join([f"{capitalised(labels)}.", *descriptions]), figure)


def draw_shared_metric(
    ax: Axes, group: Results, quantity: Quantity, axis: str, log: bool, beside: bool = False
) -> list[Line2D]:
    """One shared metric against one budget, with its levels; returns entries for the legend."""
    log_y = quantity.scale == "log"
    curves = curves_by_arm(arms_with(group, quantity), quantity, axis)
    if not draw_curves(ax, curves, arm_styles(group), axis, log or log_y, log_y=log_y):
        explain_empty(ax, f"nothing {'above 0 ' if log_y else ''}recorded past budget 0")
    ax.set_ylabel(unit_and_direction(quantity))
    return draw_levels(ax, group, quantity, beside=beside)


def arms_with(group: Results, *quantities: Quantity) -> list[Arm]:
    """The arms that have recorded any of some quantities."""
    return [arm for arm in group.arms if any(map(arm.recorded, quantities))]
