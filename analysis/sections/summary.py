"""The first screen: what the numbers say, in sentences made from the numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from analysis.records.quantities import AXES, EXCESS_LOSS, capitalised, label
from analysis.records.results import Results
from analysis.records.run_records import Arm, Missing, finished_of_planned
from analysis.statistics.bayes_accuracy import BayesAccuracies, bayes_accuracies, verdict_on_past
from analysis.statistics.compare import UNCLEAR, Comparison, mean_final_score
from analysis.statistics.convergence import counted_crossings, mean_budget, mean_budget_ratio
from analysis.statistics.density import density
from analysis.statistics.group_comparisons import GroupComparisons
from analysis.statistics.intervals import Interval, t_interval
from analysis.statistics.thresholds import Threshold
from analysis.tables.table import show

FEW = 2
"""Up to this many comparisons have a sentence each; of more, the arms are listed by verdict."""


def summarise(results: Results, groups: Sequence[GroupComparisons], axis: str) -> list[str]:
    """Sentences for the top of the report, data group by data group."""
    data = f", on {len(groups)} data groups that are not compared with each other" if len(groups) > 1 else ""
    arms = f"{len(results.arms)} arm{'' if len(results.arms) == 1 else 's'}"
    lines = [f"{finished_of_planned(results.runs)} runs are finished, in {arms}{data}."]
    if not results.recorded:
        return [*lines, "No run has recorded anything yet, so there is nothing to compare."]
    pairs = [pair for group in groups for pair in group.pairs]
    refused = [pair for pair in pairs if pair.refusal is not None]
    if refused:
        lines.append(f"{len(refused)} of {len(pairs)} comparisons refused: the runs are not paired, see below.")
    if len(refused) < len(pairs):
        lines.append(
            "Brackets hold 95 % t-intervals over n seeds, not corrected for their number; a difference counts only "
            "when its interval excludes 0, a ratio only when it excludes 1."
        )
    if not pairs:
        lines.append("There is only one arm, or no reference arm, so nothing is compared.")
    for group in groups:
        lines += [group.results.prefix + line for line in _data_group(group, axis)]
    if any(len({arm.objective for arm in group.results.arms}) > 1 for group in groups):
        lines.append("Losses on an arm's own question are not compared across objectives: the questions differ.")
    return lines


def _data_group(found: GroupComparisons, axis: str) -> list[str]:
    group = found.results
    if not group.recorded:
        return ["No run has recorded anything yet."]
    compared = [pair for pair in found.pairs if pair.refusal is None]
    lines = bayes_sentences(group)
    for quantity in group.main_metrics if compared else []:
        lines += _final_sentences(compared, quantity)
    for threshold in found.headline if compared else []:
        lines += _budget_sentences(compared, threshold, axis)
    return lines + _supervision_sentence(group)


def bayes_sentences(group: Results) -> list[str]:
    """A sentence on the excess loss of every arm, and one on each probe beside its Bayes accuracies, where known."""
    lines = []
    if EXCESS_LOSS in group.quantities:
        each = {arm: _with_n(score) for arm, score in _finished(group, EXCESS_LOSS).items()}
        lines.append(f"Excess loss at the end, in nats per target above the Bayes loss: {_by_arm(group, each)}.")
    return [*lines, *(_bayes_accuracy_sentence(group, known) for known in bayes_accuracies(group))]


def _bayes_accuracy_sentence(group: Results, known: BayesAccuracies) -> str:
    scores = _finished(group, known.quantity)
    each = {arm: f"{_with_n(score)}, {verdict_on_past(arm, score, known.past)}" for arm, score in scores.items()}
    return (
        f"{capitalised(label(known.quantity))}, at the end: {_by_arm(group, each)}. The Bayes accuracy is "
        f"{known.token:.3f} from the token alone, {known.past:.3f} from the past, which no causal model can exceed, "
        f"and {known.both:.3f} from both sides, which no model can exceed."
    )


def _finished(group: Results, quantity: str) -> dict[Arm, Interval]:
    scores = {arm: mean_final_score(arm, quantity) for arm in group.arms}
    return {arm: score for arm, score in scores.items() if isinstance(score, Interval)}


def _by_arm(group: Results, each: Mapping[Arm, str]) -> str:
    """`a 0.1; b 0.2; no final score yet: c`."""
    parts = [f"{arm.name} {text}" for arm, text in each.items()]
    rest = [arm.name for arm in group.arms if arm not in each]
    return "; ".join([*parts, f"no final score yet: {'; '.join(rest)}"] if rest else parts)


def _with_n(score: Interval) -> str:
    return f"{show(score, 'score')} (n = {score.n})"


def _final_sentences(pairs: Sequence[Comparison], quantity: str) -> list[str]:
    """How the arms compare at the end by one quantity."""
    when = f"{capitalised(label(quantity))}, at the end"
    if len(pairs) > FEW:
        verdicts = {pair: pair.verdict(quantity) for pair in pairs}
        for pair in pairs:
            ahead = pair.ahead(quantity)
            if ahead is not None:
                verdicts[pair] = "ahead" if ahead is pair.arm else "behind"
        return [f"{when}, {_grouped(verdicts, 'ahead', 'behind')}"]
    lines = []
    for pair in pairs:
        difference = pair.difference(quantity)
        if isinstance(difference, Missing):
            lines.append(f"{when}, {pair.names}: {difference}.")
            continue
        scores = (f"{arm.name} {show(mean_final_score(arm, quantity), 'score')}" for arm in (pair.reference, pair.arm))
        lines.append(
            f"{when}: {pair.verdict(quantity)}; {'; '.join(scores)}; paired difference {pair.names} "
            f"{show(difference, 'signed')}, n = {difference.n}."
        )
    return lines


def _budget_sentences(pairs: Sequence[Comparison], threshold: Threshold, axis: str) -> list[str]:
    """How much budget the arms need to reach one threshold."""
    what = f"To reach {label(threshold.quantity)} {threshold.value:.3f} ({threshold.origin}), in {AXES[axis].label}"
    ratios = {pair: mean_budget_ratio(pair, threshold, axis) for pair in pairs}
    if len(pairs) > FEW:
        verdicts = {pair: _ratio_verdict(ratio) for pair, ratio in ratios.items()}
        return [f"{what}, {_grouped(verdicts, 'needs less', 'needs more')}"]
    lines = []
    for pair, ratio in ratios.items():
        parts = [f"ratio {pair.arm.name} / {pair.reference.name} {show(ratio, 'ratio')}"]
        if isinstance(ratio, Interval):
            verdict = _ratio_verdict(ratio)
            needs = f"{pair.arm.name} {verdict}" if verdict.startswith("needs") else verdict
            parts = [needs, f"{parts[0]}, n = {ratio.n}"]
        for arm in (pair.reference, pair.arm):
            parts.append(f"{arm.name} {show(mean_budget(counted_crossings(arm, threshold, axis)), 'budget')}")
        lines.append(f"{what}: {'; '.join(parts)}.")
    return lines


def _ratio_verdict(ratio: Interval | Missing) -> str:
    if isinstance(ratio, Missing):
        return str(ratio)
    if ratio.no_conclusion:
        return ratio.no_conclusion
    if not ratio.excludes(1):
        return UNCLEAR
    return "needs more" if ratio.mean > 1 else "needs less"


def _grouped(verdicts: Mapping[Comparison, str], *clear: str) -> str:
    """`5 arms against r. Ahead: a; b. Behind: c. Not distinguishable: d. No conclusion: e.`"""
    references = "; ".join(dict.fromkeys(pair.reference.name for pair in verdicts))
    sentences = [f"{len(verdicts)} arms against {references}"]
    known = (*clear, UNCLEAR)
    for verdict in (*known, None):
        names = [pair.arm.name for pair, v in verdicts.items() if (v == verdict if verdict else v not in known)]
        if names:
            sentences.append(f"{capitalised(verdict or 'no conclusion')}: {'; '.join(names)}")
    return ". ".join(sentences) + "."


def _supervision_sentence(group: Results) -> list[str]:
    each = {}
    for arm in group.arms:
        found = [d.realised for d in map(density, arm.runs) if d is not None]
        if found:
            each[arm.name] = f"{t_interval(found).mean:.3f}"
    if len(each) > 1 and len(set(each.values())) == 1:
        return [f"Targets per token read: {next(iter(each.values()))} in every arm."]
    return [f"Targets per token read: {'; '.join(f'{name} {value}' for name, value in each.items())}."] if each else []
