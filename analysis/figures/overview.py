"""The first figure of a report: the main metrics, and of a single data group also the supervision received."""

from __future__ import annotations

from matplotlib.axes import Axes

from analysis.figures.arm_styles import draw_legend
from analysis.figures.density import draw_targets
from analysis.figures.excess_loss import draw_excess_loss
from analysis.figures.learning_curves import draw_shared_metric
from analysis.figures.reference_lines import chance_handle, has_chance_line, label_bayes_accuracies
from analysis.figures.style import Drawing, panels, plain
from analysis.records.quantities import EXCESS_LOSS, title
from analysis.records.results import Results
from analysis.statistics.bayes_accuracy import bayes_accuracies, bayes_accuracies_of, rules_are_known

MOST = 2
"""Metrics shown of each data group."""
WIDE = 48
"""Letters of a title that fit over a panel here."""


def overview_figure(results: Results, axis: str, log: bool) -> Drawing:
    """Up to two main metrics against the budget; a row for each data group, or the supervision of the only one."""
    return _one(results, axis, log) if len(results.data_groups) == 1 else _several(results, axis, log)


def overview_metrics(group: Results) -> list[str]:
    """The shared metrics to show first: those that are bounded by known rules, where there are any."""
    if rules_are_known(group):
        return [EXCESS_LOSS, bayes_accuracies(group)[0].quantity]
    return group.main_metrics[-MOST:]


def _one(group: Results, axis: str, log: bool) -> Drawing:
    shown = overview_metrics(group)
    figure, axes = panels(len(shown) + 1, len(shown) + 1, width=4.0, height=3.0)
    for ax, quantity in zip(axes, shown, strict=False):
        _panel(ax, group, quantity, axis, log)
    draw_targets(axes[-1], group)
    axes[-1].set_title("supervision received")
    draw_legend(figure, group.arms, group, [chance_handle()] if _has_chance(group) else [])
    right = "how many tokens each arm had to predict."
    caption = f"Left: shared metrics, measured in the same way for every arm. Right: {right}"
    return Drawing("overview", caption if shown else right.capitalize(), figure)


def _several(results: Results, axis: str, log: bool) -> Drawing:
    rows = [group for group in results.data_groups if overview_metrics(group)]
    figure, axes = panels(MOST * max(len(rows), 1), MOST, width=4.5, height=2.8)
    for ax in axes:
        ax.set_axis_off()
    for row, group in enumerate(rows):
        for ax, quantity in zip(axes[MOST * row :], overview_metrics(group), strict=False):
            ax.set_axis_on()
            _panel(ax, group, quantity, axis, log)
    arms = [arm for group in rows for arm in group.arms]
    draw_legend(figure, arms, results, [chance_handle()] if any(map(_has_chance, rows)) else [])
    names = "; ".join(group.group_name for group in rows)
    caption = f"Shared metrics, one row for each data group: {names}. Nothing is compared between rows."
    return Drawing("overview", caption, figure)


def _panel(ax: Axes, group: Results, quantity: str, axis: str, log: bool) -> None:
    if quantity == EXCESS_LOSS:
        draw_excess_loss(ax, group, axis)
    else:
        draw_shared_metric(ax, group, quantity, axis, log)
    if known := bayes_accuracies_of(group, quantity):
        label_bayes_accuracies(ax, known)
    ax.set_title(plain(group.prefix + title(quantity).removesuffix(", accuracy"), WIDE))


def _has_chance(group: Results) -> bool:
    return any(has_chance_line(group, quantity) for quantity in overview_metrics(group))
