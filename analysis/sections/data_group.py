"""The sections of a report on one data group, in the order they are read."""

from __future__ import annotations

from analysis.figures.convergence import budget_ratios_figure, budgets_figure
from analysis.figures.density import density_figure, density_ladder_figure
from analysis.figures.final_scores import final_scores_figure
from analysis.figures.learning_curves import by_figure, learning_curves_figure
from analysis.figures.own_scores import own_scores_figure
from analysis.records.labels import AXES
from analysis.records.results import Results
from analysis.sections.document import Section
from analysis.sections.factors import factor_sections
from analysis.statistics.density import density_ladder
from analysis.statistics.group_comparisons import GroupComparisons
from analysis.tables.convergence import (
    budget_ratios_table,
    budgets_by_seed_table,
    budgets_table,
    crossovers_by_seed_table,
    crossovers_table,
)
from analysis.tables.density import density_ladder_table, density_table
from analysis.tables.factors import published_table
from analysis.tables.final_scores import (
    final_differences_table,
    final_scores_by_seed_table,
    final_scores_table,
    own_differences_table,
    own_scores_table,
    partial_scores_table,
)
from analysis.tables.levels import levels_table
from analysis.tables.published import OBJECTIVE


def data_group_sections(found: GroupComparisons, axis: str, log: bool) -> list[Section]:
    """Everything about one data group that has recorded anything; arms of another never enter."""
    group = found.results
    sections = [_final_scores(found), *_levels(group), _learning_curves(group, log), _convergence(found, axis)]
    return [*sections, _density(group), _own_scores(found), *factor_sections(group)]


def _final_scores(found: GroupComparisons) -> Section:
    group = found.results
    section = Section("scores", "Final scores")
    metrics = group.shared_metrics
    if not metrics:
        section.text = ["No run has recorded a shared metric."]
        return section
    section.text = ["Shared metrics, by which every arm can be compared, at the end of finished runs."]
    of_all = [metric for metric in metrics if group.answered_by_all(metric)]
    of_some = [metric for metric in metrics if metric not in of_all]
    if of_all:
        section.tables.append(final_scores_table(group, of_all))
    if of_some:
        section.text.append(
            "Metrics that not every arm answers have a table of their own, and differences between those that do."
        )
        section.tables.append(partial_scores_table(group, of_some))
    section.tables.append(final_scores_by_seed_table(group, [*metrics, *group.own_scores]))
    if found.pairs:
        section.tables.append(final_differences_table(found.pairs, of_all, of_some))
    section.add_drawing(
        final_scores_figure(group, [metric for metric in metrics if metric in of_all or metric.headline])
    )
    return section


def _levels(group: Results) -> list[Section]:
    """Shared metrics beside chance, baselines and bounds."""
    tables = [table for table in (levels_table(group, metric) for metric in group.shared_metrics) if table is not None]
    if not tables:
        return []
    text = (
        "A score means as much as it exceeds its baselines, none of which has an encoder trained on the text. A bound "
        "is what no model can beat, or no model that reads from left to right."
    )
    return [Section("levels", "Baselines and bounds", [text], tables=tables)]


def _learning_curves(group: Results, log: bool) -> Section:
    section = Section("curves", "Learning curves")
    figures = by_figure(group.shared_metrics)
    section.drawings = [learning_curves_figure(group, name, some, log) for name, some in figures.items()]
    if not figures:
        section.text = ["No shared metric has been recorded yet."]
    return section


def _convergence(found: GroupComparisons, axis: str) -> Section:
    group, pairs = found.results, found.pairs
    section = Section("convergence", "Convergence speed")
    section.text = [
        f"Budget ({AXES[axis].label} unless said otherwise) at which the monotone fit to a run's curve "
        "crosses, interpolated linearly in log budget between two of its steps (of what is drawn on a log scale: "
        "in its log as well). The CSV files hold every axis and every seed.",
        *found.missing,
    ]
    everything = [threshold for some in found.thresholds.values() for threshold in some]
    names = {quantity.name for quantity in group.headline_metrics} | found.requested
    main = {name: some for name, some in found.thresholds.items() if name in names}
    shown = [threshold for some in main.values() for threshold in some]
    if shown:
        section.tables.append(budgets_table(group, shown, [axis], "budgets", True))
        section.tables.append(budgets_table(group, everything, list(AXES), "budgets_all_axes", False))
        section.tables.append(budgets_by_seed_table(group, everything))
        section.add_drawing(budgets_figure(group, main, axis))
    if pairs and shown:
        section.tables.append(budget_ratios_table(pairs, shown))
        comparable = {name: some for name, some in main.items() if some[0].quantity.comparable == "all"}
        section.add_drawing(budget_ratios_figure(group, pairs, comparable))
    if pairs and group.headline_metrics:
        section.tables.append(crossovers_table(pairs, group.headline_metrics, axis))
        section.tables.append(crossovers_by_seed_table(pairs, group.shared_metrics))
    if len({arm.is_causal for arm in group.arms}) == 2:
        steps = "training steps"
        section.tables.append(published_table(OBJECTIVE, "published_objective", steps, lambda k: f"{k:g} thousand"))
    return section


def _density(group: Results) -> Section:
    section = Section("density", "Supervision density", tables=[density_table(group)])
    section.text = ["Targets for each token read, as planned and as it came out, and what they cost."]
    section.add_drawing(density_figure(group))
    if len({round(rung, 2) for arm in group.arms if (rung := arm.density) is not None}) > 2:
        ladders = {quantity: density_ladder(group.arms, quantity) for quantity in group.headline_metrics}
        section.tables.append(density_ladder_table(ladders))
        section.add_drawing(density_ladder_figure(group, ladders))
    return section


def _own_scores(found: GroupComparisons) -> Section:
    group = found.results
    section = Section("own", "Own questions")
    if not group.own_scores:
        section.text = ["No score on an arm's own question has been recorded yet."]
        return section
    section.text = [
        "What an arm scores on the question that it is trained on. It can be compared only with arms that are asked "
        "the same question."
    ]
    section.tables.append(own_scores_table(group, group.own_scores))
    section.tables += [table for one in group.own_scores if (table := levels_table(group, one)) is not None]
    alike = [pair for pair in found.pairs if pair.arm.traits.question == pair.reference.traits.question]
    if alike:
        section.tables.append(own_differences_table(alike, group.own_scores))
    section.drawings = [own_scores_figure(group, name, some) for name, some in by_figure(group.own_scores).items()]
    return section
