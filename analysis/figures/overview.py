"""The first figure of a report: the headline metrics against the budget."""

from __future__ import annotations

from matplotlib.lines import Line2D

from analysis.figures.arm_styles import draw_legend
from analysis.figures.density import draw_targets
from analysis.figures.learning_curves import draw_shared_metric
from analysis.figures.panels import RIGHT, panels
from analysis.figures.style import Drawing, plain
from analysis.records.results import Results
from analysis.statistics.levels import levels_of

COLUMNS = 2
WIDE = 48
"""Letters of a title that fit over a panel here."""
BESIDE = 1.5
"""Inches for the names of levels to the right of a panel."""


def overview_figure(results: Results, axis: str, log: bool) -> Drawing:
    """One panel for each headline metric, data group by data group; the supervision received where there is none."""
    rows = [group for group in results.data_groups if group.headline_metrics]
    if not rows:
        return _supervision(results)
    columns = min(COLUMNS, max(len(group.headline_metrics) for group in rows))
    counts = [-(-len(group.headline_metrics) // columns) for group in rows]
    named = [any(_has_levels(group, i, columns) for group in rows) for i in range(columns)]
    right = [BESIDE if names else RIGHT for names in named]
    figure, axes = panels(sum(counts) * columns, columns, width=5.2, height=3.1, right=right)
    for ax in axes:
        ax.set_axis_off()
    handles: list[Line2D] = []
    for i, group in enumerate(rows):
        first = sum(counts[:i]) * columns
        for ax, quantity in zip(axes[first:], group.headline_metrics, strict=False):
            ax.set_axis_on()
            handles += draw_shared_metric(ax, group, quantity, axis, log, beside=True)
            ax.set_title(plain(group.prefix + quantity.label, WIDE))
    draw_legend(figure, [arm for group in rows for arm in group.arms], results, handles)
    return Drawing("overview", _caption(rows, results), figure)


def _has_levels(group: Results, column: int, columns: int) -> bool:
    """Whether any panel of a column has levels to be named beside it."""
    return any(levels_of(group, quantity) for quantity in group.headline_metrics[column::columns])


def _caption(rows: list[Results], results: Results) -> str:
    caption = "Shared metrics, by which every arm that answers them can be compared."
    if len(results.data_groups) > 1:
        names = "; ".join(group.group_name for group in rows)
        caption += f" One data group after the other: {names}. Nothing is compared between them."
    descriptions = (q.description for group in rows for q in group.headline_metrics if q.description)
    return " ".join([caption, *dict.fromkeys(descriptions)])


def _supervision(results: Results) -> Drawing:
    groups = [group for group in results.data_groups if group.recorded]
    figure, axes = panels(len(groups), COLUMNS, width=4.5, height=3.0)
    for ax, group in zip(axes, groups, strict=True):
        draw_targets(ax, group)
        ax.set_title(plain(f"{group.prefix}supervision received", WIDE))
    draw_legend(figure, [arm for group in groups for arm in group.arms], results)
    return Drawing("overview", "How many tokens each arm had to predict. No shared metric was recorded yet.", figure)
