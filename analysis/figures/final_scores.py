"""The figure of final scores by arm."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from analysis.figures.arm_styles import arm_styles, draw_legend, row_names
from analysis.figures.levels import draw_levels
from analysis.figures.seeds import Dots, draw_dots, row_panels, seed_handle
from analysis.figures.style import Drawing, plain
from analysis.records.labels import unit_and_direction
from analysis.records.results import Results
from analysis.statistics.compare import mean_final_score
from analysis.statistics.intervals import Interval
from analysis.statistics.levels import levels_of
from experiments.records.quantities import Quantity


def final_scores_figure(group: Results, quantities: Sequence[Quantity]) -> Drawing | None:
    """Final score by arm, one panel a quantity."""
    if not any(arm.final_scores(q) for arm in group.arms for q in quantities):
        return None
    levels = {level.name for quantity in quantities for level in levels_of(group, quantity)}
    height = 0.9 + 0.3 * len(group.arms) + 0.13 * len(levels)
    figure, axes = row_panels(row_names(group.arms), len(quantities), 3, width=3.9, height=height)
    handles = [seed_handle()]
    for ax, quantity in zip(axes, quantities, strict=True):
        handles += _final_scores_panel(ax, group, quantity)
    draw_legend(figure, [], group, handles)
    caption = (
        "Final scores of finished runs: open dots are seeds, markers their mean, bars its 95 % interval "
        "(cut at the frame)."
    )
    return Drawing("final-scores", caption, figure)


def _final_scores_panel(ax: Axes, group: Results, quantity: Quantity) -> list[Line2D]:
    """Returns entries for the legend."""
    styles, rows = arm_styles(group), []
    for y, arm in enumerate(group.arms):
        mean = mean_final_score(arm, quantity)
        scores = [*arm.final_scores(quantity).values()]
        rows.append(Dots(y, styles[arm.name], scores, mean if isinstance(mean, Interval) else None))
    draw_dots(ax, rows)
    if drawn := [score for row in rows for score in row.seeds]:
        ax.set_xlim(*_with_margin(drawn))
    handles = draw_levels(ax, group, quantity, vertical=True)
    ax.xaxis.set_major_locator(MaxNLocator(5))
    ax.set_title(plain(quantity.label))
    ax.set_xlabel(unit_and_direction(quantity))
    return handles


def _with_margin(values: Sequence[float]) -> tuple[float, float]:
    margin = 0.12 * (max(values) - min(values)) or 0.05
    return min(values) - margin, max(values) + margin
