"""Figures of losses that are not shared metrics: on each objective's own question, and at common mask rates."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from analysis.figures.arm_styles import arm_styles, draw_legend
from analysis.figures.learning_curves import arms_with
from analysis.figures.reference_lines import DOTTED
from analysis.figures.seeds import curves_by_arm, draw_curves
from analysis.figures.style import GREY, Drawing, explain_empty, panels, plain
from analysis.records.quantities import (
    BAYES_LOSS,
    TRAIN_LOSS,
    VALIDATION_LOSS,
    cloze_quantities,
    common_mask_rate,
    title,
)
from analysis.records.results import Results
from analysis.records.run_records import Arm


def own_losses_figure(group: Results) -> Drawing | None:
    """Training and validation loss on each objective's own question: a column for each objective, y-axes apart."""
    recorded = [q for q in (TRAIN_LOSS, VALIDATION_LOSS) if q in group.quantities]
    objectives = list(dict.fromkeys(arm.objective for arm in group.arms))
    if not recorded:
        return None
    shown = [(quantity, objective) for quantity in recorded for objective in objectives]
    figure, axes = panels(len(shown), len(objectives), width=4.3)
    for ax, (quantity, objective) in zip(axes, shown, strict=True):
        arms = [arm for arm in group.arms if arm.objective == objective]
        if not draw_curves(ax, curves_by_arm(arms, quantity, "tokens"), arm_styles(group), "tokens", True, marks=False):
            explain_empty(ax, "nothing recorded yet")
        elif quantity == VALIDATION_LOSS:
            _draw_bayes_losses(ax, group, arms)
        ax.set_title(plain(f"{objective}: {title(quantity)}"))
        ax.set_ylabel("nats per target")
    bayes = Line2D([], [], color=GREY, lw=1.2, ls=DOTTED, label=title(BAYES_LOSS))
    draw_legend(figure, group.arms, group, [bayes] if BAYES_LOSS in group.quantities else [])
    caption = (
        "Each arm's loss on its own question: panels must not be compared across objectives, which predict different "
        "targets from different context. Within one objective, only arms with the same settings, such as mask rate and "
        "corruption mix, answer the same question."
    )
    return Drawing("own-losses", caption, figure)


def _draw_bayes_losses(ax: Axes, group: Results, arms: Sequence[Arm]) -> None:
    """The Bayes loss of each arm's question, where it is known."""
    for arm in arms:
        series = [run.series[BAYES_LOSS].values for run in arm.runs if BAYES_LOSS in run.series]
        values = [float(recorded[-1]) for recorded in series if recorded.size]
        if not values:
            continue
        level = sum(values) / len(values)
        ax.axhline(level, color=arm_styles(group)[arm.name].color, lw=1.2, ls=DOTTED)
        low, high = ax.get_ylim()
        ax.set_ylim(min(low, level - 0.05 * (high - level)), high)


def cloze_losses_figure(group: Results) -> Drawing | None:
    """Validation loss at mask rates common to all arms, 80/10/10: one panel a rate."""
    recorded = cloze_quantities(group.quantities)
    if not recorded:
        return None
    arms = arms_with(group, *recorded)
    figure, axes = panels(len(recorded), len(recorded), width=3.9)
    for ax, quantity in zip(axes, recorded, strict=True):
        if not draw_curves(ax, curves_by_arm(arms, quantity, "tokens"), arm_styles(group), "tokens", True):
            explain_empty(ax, "nothing recorded past budget 0")
        ax.set_title(f"{100 * (common_mask_rate(quantity) or 0):g} % of positions masked")
        ax.set_ylabel("validation loss (nats per target)")
    draw_legend(figure, arms, group)
    caption = (
        "Validation loss on common questions, for the arms that can predict what [MASK] hides: the same masks for "
        "every arm, whatever it was trained with. Comparable among these arms within a panel."
    )
    return Drawing("common-mask-rates", caption, figure)
