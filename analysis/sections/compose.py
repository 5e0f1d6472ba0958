"""What a report consists of, in the order it is read."""

from __future__ import annotations

from collections.abc import Sequence

from analysis.figures.overview import overview_figure
from analysis.records.labels import bracketed, with_unit
from analysis.records.results import Results
from analysis.sections.data_group import data_group_sections
from analysis.sections.document import Document, Section, disambiguate, with_own_names
from analysis.sections.summary import summarise
from analysis.statistics.compare import other_settings
from analysis.statistics.group_comparisons import GroupComparisons, compare_within
from analysis.statistics.item_errors import lacks_item_errors, lacks_parts
from analysis.statistics.thresholds import check_requested
from analysis.tables.runs import runs_table

HOW_INTERVALS_ARE_MADE = (
    "An interval is mean ± √((t · s/√n)² + (z · SE)²). The first part is Student's t-interval over n seeds: s is their "
    "standard deviation, t the 97.5 % quantile with n − 1 degrees of freedom. The second covers the luck of the items, "
    "such as validation blocks, test texts or sentence pairs, on which all seeds are measured alike: SE is the "
    "standard error of one run over them (root mean square over seeds), which more seeds do not make smaller, and z = "
    "1.96.",
    "Of a difference, what both sides share of the luck cancels: its SE comes from 20 parts of the items, the same for "
    "both sides, with what each adds to either score (t with 19 degrees of freedom in place of z). Where no parts are "
    "recorded, as of fewer than 40 items, SE² is the sum of both sides', as if they had been measured on different "
    "items: what such an interval calls distinguishable is so, and what it does not may still be.",
    "A budget to a threshold has the SE of its log: how far the crossing moves when the threshold is moved by the SE "
    "of the score; that of a ratio has both.",
    "An interval may pass what is possible, such as an accuracy of 1: it is not cut.",
    "One seed has no interval, and nothing is concluded from it, nor from seeds that agree exactly.",
)
HOW_CURVES_ARE_DRAWN = (
    "In every figure of curves, thin lines are single seeds (dotted: not finished). The thick line is the mean over "
    "the finished seeds, or over all where none is finished; the shade is its 95 % interval, cut at the frame. Seeds "
    "recorded at different places, as in seconds, are interpolated onto 60 places in their common range. Mean and "
    "interval of what is drawn on a log scale are those of its logs."
)


def compose(results: Results, requested: Sequence[tuple[str, float]], axis: str, log: bool) -> Document:
    """Build the report of a grid; `requested` are thresholds beside the automatic ones."""
    check_requested(results, requested)
    groups = [compare_within(group, requested, axis) for group in results.data_groups]
    summary, alerts = summarise(results, groups, axis), _alerts(results, groups)
    runs = Section("runs", "Runs", tables=[runs_table(results)])
    if not results.recorded:
        return Document(results.title, summary, alerts, [runs])
    by_group = [data_group_sections(group, axis, log) if group.results.recorded else [] for group in groups]
    if len(groups) > 1:
        by_group = disambiguate(by_group, [group.results.group_name for group in groups])
    sections = [section for sections in by_group for section in sections]
    all_sections = [_overview(results, axis, log), *sections, _intervals(results), _pairing(groups), runs]
    return Document(results.title, summary, alerts, with_own_names(all_sections))


def _alerts(results: Results, groups: Sequence[GroupComparisons]) -> list[str]:
    alerts = [*_refusals(groups), *results.left_out]
    unfinished = [run for run in results.runs if not run.finished]
    if unfinished:
        alerts.append("Not finished: " + "; ".join(f"{run.name}: {run.progress}" for run in unfinished) + ".")
    for run in unfinished:
        if run.state.state in ("failed", "diverged"):
            reason = run.state.error or "no error recorded"
            alerts.append(f"{run.name} {run.state.state}: {reason.removeprefix('diverged ')} (log: {run.log})")
        elif run.state.state == "damaged":
            alerts.append(f"{run.name} is damaged and left out: {run.state.error}")
    for group in results.data_groups:
        alerts += [group.prefix + found for found in other_settings(group)]
        budgets = sorted({run.budget_tokens for run in group.runs if run.budget_tokens})
        if len(budgets) > 1:
            shown = ", ".join(f"{budget:,}" for budget in budgets)
            alerts.append(
                f"{group.prefix}The runs have different budgets ({shown} tokens), so final scores are not at equal "
                "budgets."
            )
    return alerts


def _refusals(groups: Sequence[GroupComparisons]) -> list[str]:
    pairs = [(group.results.prefix, pair) for group in groups for pair in group.pairs]
    return [f"{prefix}Refused: {pair.refusal}" for prefix, pair in pairs if pair.refusal is not None]


def _overview(results: Results, axis: str, log: bool) -> Section:
    return Section("overview", "Overview", [HOW_CURVES_ARE_DRAWN], drawings=[overview_figure(results, axis, log)])


def _intervals(results: Results) -> Section:
    text = list(HOW_INTERVALS_ARE_MADE)
    for group in results.data_groups:
        scores = [*group.shared_metrics, *group.own_scores]
        if seeds_alone := [with_unit(score) for score in scores if lacks_item_errors(group.arms, score)]:
            text.append(
                f"{group.prefix}No standard error over items is recorded of {'; '.join(seeds_alone)}, so intervals of "
                "these cover the seeds alone."
            )
        lacking = [one for one in scores if lacks_parts(group.arms, one) and not lacks_item_errors(group.arms, one)]
        if lacking:
            names = "; ".join(map(with_unit, lacking))
            text.append(f"{group.prefix}No parts are recorded of {names}: differences have the SE of both sides.")
    return Section("intervals", "How intervals are made", text)


def _pairing(groups: Sequence[GroupComparisons]) -> Section:
    section = Section("pairing", "Pairing", alerts=_refusals(groups))
    if len(groups) > 1:
        section.text.append("Arms that read different data are not paired and not compared.")
    pairs = [(group.results.prefix, pair) for group in groups for pair in group.pairs]
    if not pairs:
        section.text.append("Nothing is compared, so nothing has to be paired.")
    for prefix, pair in pairs:
        names = f"{prefix}{bracketed(pair.arm.name)} and {bracketed(pair.reference.name)}"
        if pair.seeds:
            seeds = ", ".join(map(str, pair.seeds))
            section.text.append(
                f"{names}: proved to be paired in seeds {seeds}; equal initial encoder weights, tokenizer, packed "
                "data, world size, and stream of text at every common step."
            )
        elif pair.refusal is None:
            section.text.append(f"{names}: no seed of which both have recorded anything.")
    return section
