"""The sections of a report on one data group, in the order they are read."""

from __future__ import annotations

from analysis.figures.convergence import budget_ratios_figure, budgets_figure
from analysis.figures.density import density_figure
from analysis.figures.excess_loss import excess_and_probe_figure, excess_loss_figure, probe_figure
from analysis.figures.final_scores import final_scores_figure, mask_rate_figure
from analysis.figures.learning_curves import learning_curves_figure
from analysis.figures.own_losses import cloze_losses_figure, own_losses_figure
from analysis.records.quantities import AXES, EXCESS_LOSS, cloze_quantities, common_mask_rate, label
from analysis.records.results import Results
from analysis.sections.document import Section
from analysis.statistics.bayes_accuracy import bayes_accuracies
from analysis.statistics.compare import comparisons_with_baseline
from analysis.statistics.group_comparisons import GroupComparisons
from analysis.tables.bayes_loss import bayes_loss_table
from analysis.tables.convergence import (
    budget_ratios_table,
    budgets_by_seed_table,
    budgets_table,
    crossovers_by_seed_table,
    crossovers_table,
)
from analysis.tables.density import density_table
from analysis.tables.factors import FACTORS, Factor, factor_differences_table, factor_scores_table, published_table
from analysis.tables.final_scores import final_differences_table, final_scores_by_seed_table, final_scores_table
from analysis.tables.published import OBJECTIVE


def data_group_sections(found: GroupComparisons, axis: str, log: bool) -> list[Section]:
    """Everything about one data group that has recorded anything; arms of another never enter."""
    group = found.results
    sections = [
        *_excess_loss(found, log),
        _final_scores(found),
        _learning_curves(group, log),
        _convergence(found, axis),
    ]
    return [*sections, _density(group), _losses(group), *_factors(group)]


def _excess_loss(found: GroupComparisons, log: bool) -> list[Section]:
    group = found.results
    if EXCESS_LOSS not in group.quantities:
        return []
    section = Section("excess-loss", "Excess over the Bayes loss")
    section.text = [
        "The rules of this language are known, and so is the Bayes loss, the lowest loss that any model can reach on a "
        "question. Losses of different objectives cannot be compared; their excess over it, in nats per target, can."
    ]
    section.tables.append(bayes_loss_table(group, found.pairs))
    section.add_drawing(excess_and_probe_figure(group, log))
    section.add_drawing(excess_loss_figure(group))
    for known in bayes_accuracies(group):
        section.add_drawing(probe_figure(group, known, log))
    return [section]


def _final_scores(found: GroupComparisons) -> Section:
    group = found.results
    section = Section("scores", "Final scores")
    metrics = group.shared_metrics
    if not metrics:
        section.text = ["No run has recorded a shared metric."]
        return section
    section.text = ["Shared metrics, measured in the same way for every arm, at the end of finished runs."]
    known = [(metric, group.chance(metric)) for metric in metrics]
    chance = [f"{label(metric)} {level:.3f}" for metric, level in known if level is not None]
    if chance:
        section.text.append(f"Chance, or always naming the majority class, would score: {'; '.join(chance)}.")
    section.tables.append(final_scores_table(group, metrics))
    at_rates = [*cloze_quantities(group.quantities, "excess_loss"), *cloze_quantities(group.quantities)]
    section.tables.append(final_scores_by_seed_table(group, [*metrics, *at_rates]))
    if found.pairs:
        section.tables.append(final_differences_table(found.pairs, metrics))
    section.add_drawing(final_scores_figure(group, metrics))
    return section


def _learning_curves(group: Results, log: bool) -> Section:
    section = Section("curves", "Learning curves")
    metrics = [metric for metric in group.shared_metrics if metric != EXCESS_LOSS]  # that has a section of its own
    section.drawings = [learning_curves_figure(group, metric, log) for metric in metrics]
    if not metrics:
        section.text = ["No shared metric has been recorded yet."]
    return section


def _convergence(found: GroupComparisons, axis: str) -> Section:
    group, pairs = found.results, found.pairs
    section = Section("convergence", "Convergence speed")
    section.text = [
        f"Budget ({AXES[axis].label} unless said otherwise) at the first crossing of a run's running best, "
        "interpolated linearly in log budget between two snapshots (for the excess loss: in its log as well). The CSV "
        "files hold every axis and every seed.",
        *found.missing,
    ]
    everything = [threshold for some in found.thresholds.values() for threshold in some]
    shown_quantities = {*group.main_metrics, *found.requested}
    main = {quantity: some for quantity, some in found.thresholds.items() if quantity in shown_quantities}
    shown = [threshold for some in main.values() for threshold in some]
    if shown:
        section.tables.append(budgets_table(group, shown, [axis], "budgets", True))
        section.tables.append(budgets_table(group, everything, list(AXES), "budgets_all_axes", False))
        section.tables.append(budgets_by_seed_table(group, everything))
        section.add_drawing(budgets_figure(group, main, axis))
    if pairs and shown:
        section.tables.append(budget_ratios_table(pairs, shown))
        comparable = {
            q: some for q, some in main.items() if q in group.shared_metrics or common_mask_rate(q) is not None
        }
        section.add_drawing(budget_ratios_figure(group, pairs, comparable))
    if pairs and group.main_metrics:
        section.tables.append(crossovers_table(pairs, group.main_metrics, axis))
        section.tables.append(crossovers_by_seed_table(pairs, group.shared_metrics))
    if len({arm.is_causal for arm in group.arms}) == 2:
        steps = "training steps"
        section.tables.append(published_table(OBJECTIVE, "published_objective", steps, lambda k: f"{k[0]:g} thousand"))
    return section


def _density(group: Results) -> Section:
    section = Section("density", "Supervision density", tables=[density_table(group)])
    section.text = ["Targets for each token read, as planned and as it came out, and what they cost."]
    section.add_drawing(density_figure(group))
    return section


def _losses(group: Results) -> Section:
    section = Section("losses", "Own losses")
    section.add_drawing(own_losses_figure(group))
    section.add_drawing(cloze_losses_figure(group))
    if not section.drawings:
        section.text = ["No loss has been recorded yet."]
    return section


def _factors(group: Results) -> list[Section]:
    return [_factor(group, factor) for factor in FACTORS if factor.arms(group) and _factor_quantities(group)]


def _factor_quantities(group: Results) -> list[str]:
    return [*group.main_metrics, *cloze_quantities(group.quantities)]


def _factor(group: Results, factor: Factor) -> Section:
    arms, quantities = factor.arms(group), _factor_quantities(group)
    section = Section(factor.name.replace("_", "-"), f"By {factor.title}")
    section.tables.append(factor_scores_table(factor, arms, quantities))
    if group.baseline() is None:
        section.alerts.append("No arm has 15 % masked, 80/10/10, and the grid names no baseline: no differences.")
    else:
        pairs = comparisons_with_baseline(group)
        section.alerts += [f"Refused: {pair.refusal}" for pair in pairs if pair.refusal is not None]
        section.tables.append(factor_differences_table(factor, arms, pairs, quantities))
    section.tables.append(published_table(factor.published, f"published_{factor.name}", factor.title, factor.text))
    if factor.name == "mask_rate":
        section.add_drawing(mask_rate_figure(group, arms, quantities))
    return section
