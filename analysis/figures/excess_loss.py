"""Figures of runs on known rules: excess loss, and a probe below its Bayes accuracies."""

from __future__ import annotations

from matplotlib.axes import Axes

from analysis.figures.arm_styles import arm_styles, draw_legend
from analysis.figures.learning_curves import arms_with, draw_shared_metric, file_name
from analysis.figures.reference_lines import label_bayes_accuracies
from analysis.figures.seeds import curves_by_arm, draw_curves
from analysis.figures.style import Drawing, explain_empty, panels, plain
from analysis.records.quantities import AXES, EXCESS_LOSS, probe_task, title
from analysis.records.results import Results
from analysis.statistics.bayes_accuracy import BayesAccuracies, bayes_accuracies


def excess_and_probe_figure(group: Results, log: bool) -> Drawing | None:
    """Left the distance to the Bayes loss, right the first probe whose Bayes accuracies are known."""
    probes = bayes_accuracies(group)
    if not arms_with(group, EXCESS_LOSS) or not probes:
        return None
    known = probes[0]
    figure, (left, right) = panels(2, 2, width=4.7, height=3.3)
    draw_excess_loss(left, group, "tokens")
    left.set_title("distance to the Bayes loss")
    draw_shared_metric(right, group, known.quantity, "tokens", log)
    label_bayes_accuracies(right, known)
    right.set_title(plain(f"what the features hold: {probe_task(known.quantity)} probe"))
    draw_legend(figure, arms_with(group, EXCESS_LOSS, known.quantity), group)
    caption = (
        "Left: excess loss, nats per target above the Bayes loss, the one loss by which objectives can be compared; "
        "lower is better. Right: accuracy of a linear probe on frozen features; level lines are the Bayes accuracies "
        "from the token alone, from the past and from both sides. No causal model can be above the dashed one."
    )
    return Drawing("excess-and-probe", caption, figure)


def excess_loss_figure(group: Results) -> Drawing | None:
    """Excess loss against tokens read and against supervised tokens, log–log."""
    arms = arms_with(group, EXCESS_LOSS)
    if not arms:
        return None
    figure, axes = panels(2, 2, width=4.3, height=3.0)
    for ax, axis in zip(axes, ("tokens", "targets"), strict=True):
        draw_excess_loss(ax, group, axis)
        ax.set_title(f"against {AXES[axis].label}")
    draw_legend(figure, arms, group)
    caption = (
        "Excess loss: validation loss less the Bayes loss on the same questions, log–log. All objectives and mask "
        "rates can be compared by it. The mean over seeds is geometric, its 95 % t-interval that of the logs; a seed "
        "at or below 0, within its standard error, is not drawn and leaves a gap in the mean."
    )
    return Drawing("excess-loss", caption, figure)


def probe_figure(group: Results, known: BayesAccuracies, log: bool) -> Drawing:
    """A probe's accuracy against tokens read, with its Bayes accuracies."""
    figure, (ax,) = panels(1, 1, width=6.2, height=3.3)
    draw_shared_metric(ax, group, known.quantity, "tokens", log)
    label_bayes_accuracies(ax, known)
    ax.set_title(plain(title(known.quantity)))
    draw_legend(figure, arms_with(group, known.quantity), group)
    task = probe_task(known.quantity)
    caption = (
        f"Accuracy of the linear {task} probe, with the Bayes accuracies from the token alone, from the past (no "
        "causal model can do better) and from both sides (no model can)."
    )
    return Drawing(f"{file_name(task)}-probe", caption, figure)


def draw_excess_loss(ax: Axes, group: Results, axis: str) -> None:
    """Excess loss against one budget, log–log, whatever the scale of the other curves."""
    curves = curves_by_arm(group.arms, EXCESS_LOSS, axis)
    if not draw_curves(ax, curves, arm_styles(group), axis, True, log_y=True):
        explain_empty(ax, "nothing above 0 recorded past budget 0")
    ax.set_ylabel("nats per target above the Bayes loss")
