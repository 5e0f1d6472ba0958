"""The first screen: what the numbers say, in sentences made from the numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from analysis.records.labels import AXES, bracketed, capitalised, listed, with_unit
from analysis.records.results import Results
from analysis.records.run_records import Arm, Missing, finished_of_planned
from analysis.sections.factors import best_sentences
from analysis.statistics.compare import UNCLEAR, Comparison, mean_final_score
from analysis.statistics.convergence import counted_crossings, mean_budget, mean_budget_ratio
from analysis.statistics.density import density
from analysis.statistics.group_comparisons import GroupComparisons
from analysis.statistics.intervals import MOST_SEEDS, Interval, t_interval
from analysis.statistics.late_learners import late_learners
from analysis.statistics.levels import Level, levels_of, not_beaten, verdict
from analysis.statistics.thresholds import Threshold
from analysis.tables.table import show
from experiments.records.quantities import Quantity

UNCORRECTED = "not after Holm's correction"
FEW = 2
"""Up to this many comparisons have a sentence each; of more, the arms are listed by verdict."""


def summarise(results: Results, groups: Sequence[GroupComparisons], axis: str) -> list[str]:
    """Sentences for the top of the report, data group by data group."""
    data = f", on {len(groups)} data groups that are not compared with each other" if len(groups) > 1 else ""
    arms = f"{len(results.arms)} arm{'' if len(results.arms) == 1 else 's'}"
    lines = [f"{finished_of_planned(results.runs)} runs are finished, in {arms}{data}."]
    for state in ("diverged", "damaged", "failed"):
        if count := sum(run.state.state == state for run in results.runs):
            lines[0] = lines[0].removesuffix(".") + f"; {count} {state}."
    if not results.recorded:
        return [*lines, "No run has recorded anything yet, so there is nothing to compare."]
    pairs = [pair for group in groups for pair in group.pairs]
    refused = [pair for pair in pairs if pair.refusal is not None]
    if refused:
        lines.append(f"{len(refused)} of {len(pairs)} comparisons refused: the runs are not paired, see below.")
    if len(refused) < len(pairs):
        lines.append(
            "Brackets hold 95 % intervals over n seeds and over the items that they are measured on, each by itself; a "
            "difference counts only when its interval excludes 0, a ratio only when it excludes 1. What does not stand "
            "when Holm's method corrects for the number of comparisons in this summary is marked as that."
        )
    if not pairs:
        lines.append("No arm has another to be compared with, so nothing is compared.")
    for group in groups:
        lines += [group.results.prefix + line for line in _data_group(group, axis)]
    if any(len({arm.traits.question for arm in group.results.arms}) > 1 for group in groups):
        lines.append(
            "Losses on an arm's own question are compared only between arms that are asked the same question; between "
            "others, only their excess over the lowest possible loss is."
        )
    return lines


def _data_group(found: GroupComparisons, axis: str) -> list[str]:
    group = found.results
    if not group.recorded:
        return ["No run has recorded anything yet."]
    compared = [pair for pair in found.pairs if pair.refusal is None]
    lines = []
    for quantity in group.headline_metrics:
        lines += final_score_sentences(group, quantity)
        lines += _late_sentences(group, quantity)
        lines += _difference_sentences(found, compared, quantity) if compared else []
    for threshold in found.headline if compared else []:
        lines += _budget_sentences(found, compared, threshold, axis)
    return [*lines, *best_sentences(group), *_supervision_sentence(group), *_steps_sentence(group)]


def final_score_sentences(group: Results, quantity: Quantity) -> list[str]:
    """What every arm scores at the end, where that lies beside the bounds, and which baselines are not beaten."""
    levels = levels_of(group, quantity)
    bounds = sorted((level for level in levels if level.bounds), key=lambda level: level.bounds != "causal")
    causal = [level for level in bounds if level.bounds == "causal"]
    each = {}
    for arm in group.arms:
        score = mean_final_score(arm, quantity)
        if isinstance(score, Interval):
            text = f"{show(score, 'score')} (n = {score.n})"
            each[arm] = f"{text}, {verdict(arm, causal)}" if causal else text
    if not each:
        return []
    known = [f"{level.name} {level.value:.3f}, {_bound_for(level)}" for level in bounds if level.value is not None]
    lines = [f"{_at_the_end(quantity)}: {_by_arm(group, quantity, each)}."]
    if known:
        lines[0] += f" {capitalised('; '.join(known))}."
    return lines + [line for level in levels if not level.bounds for line in _baseline_sentences(group, level)]


def _at_the_end(quantity: Quantity) -> str:
    less = ", less is better" if quantity.better == "lower" else ""
    return f"{capitalised(with_unit(quantity))}{less}, at the end"


def _by_arm(group: Results, quantity: Quantity, each: Mapping[Arm, str]) -> str:
    """`a 0.1; b 0.2; no final score yet: c; none for: d`."""
    rest = [arm for arm in group.arms if arm not in each]
    unanswered = [arm for arm in rest if not arm.recorded(quantity) and any(run.finished for run in arm.runs)]
    later = [arm for arm in rest if arm not in unanswered]
    parts = [f"{bracketed(arm.name)} {text}" for arm, text in each.items()]
    for words, arms in (("no final score yet", later), ("none for", unanswered)):
        if arms:
            parts.append(f"{words}: {listed(arm.name for arm in arms)}")
    return "; ".join(parts)


def _bound_for(level: Level) -> str:
    return f"which no {'causal ' if level.bounds == 'causal' else ''}model can beat"


def _baseline_sentences(group: Results, level: Level) -> list[str]:
    """Which arms do not beat a baseline; nothing where all do."""
    found = not_beaten(group, level)
    margins = {arm: margin for arm in group.arms if isinstance(margin := level.margin(arm), Interval)}
    sentences = []
    for concluded in (True, False):
        among = [arm for arm, margin in margins.items() if concluded != bool(margin.no_conclusion)]
        if not (some := [arm for arm in among if arm in found]):
            continue
        arms = "no arm is" if len(some) == len(among) else f"{len(some)} of {len(among)} arms {_is_or_are(some)} not"
        better = "distinguishably better" if concluded else "better in one seed, or in seeds that agree exactly,"
        value = f", {level.value:.3f}" if level.value is not None else ""
        scores = "; ".join(_beside_level(arm, found[arm], level) for arm in some)
        sentences.append(
            f"{capitalised(level.score.label)}: {arms} {better} than the baseline {level.name}{value} ({scores})."
        )
    return sentences


def _is_or_are(arms: Sequence[Arm]) -> str:
    return "is" if len(arms) == 1 else "are"


def _beside_level(arm: Arm, score: Interval, level: Level) -> str:
    own = level.of(arm)
    beside = f" against {own:.3f}" if level.value is None and isinstance(own, float) else ""
    return f"{bracketed(arm.name)} {score.mean:.3f}{beside}"


def _late_sentences(group: Results, quantity: Quantity) -> list[str]:
    """Which arms have seeds that are far from the others: no interval over few seeds covers that."""
    found = late_learners(group, quantity)
    if not found:
        return []
    scores = {arm: ", ".join(f"{score:.3f}" for score in by_seed) for arm, by_seed in found.items()}
    each = "; ".join(f"{bracketed(arm.name)} {text}" for arm, text in scores.items())
    return [
        f"{capitalised(quantity.label)}: seeds lie far apart ({each}); some may have learned later than others. "
        "Intervals take seeds to be normal, and hold the truth less often than they say: read the seeds."
    ]


def _difference_sentences(found: GroupComparisons, pairs: Sequence[Comparison], quantity: Quantity) -> list[str]:
    """How the arms compare at the end by one quantity."""
    when = f"{capitalised(quantity.label)}, at the end"
    if len(pairs) > FEW:
        verdicts = {pair: pair.verdict(quantity) for pair in pairs}
        for pair in pairs:
            ahead = pair.ahead(quantity)
            if ahead is not None:
                verdicts[pair] = "ahead" if ahead is pair.arm else "behind"
        return [f"{when}, {_grouped(verdicts, found, quantity, 'ahead', 'behind')}"]
    lines = []
    for pair in pairs:
        difference = pair.difference(quantity)
        if isinstance(difference, Missing):
            lines.append(f"{when}, {pair.names}: {difference}.")
            continue
        lines.append(
            f"{when}: {pair.verdict(quantity)}; paired difference {pair.names} {show(difference, 'signed')}, "
            f"n = {difference.n}{_caveat(found, pair, quantity, difference, 0)}."
        )
    return lines


def _caveat(
    found: GroupComparisons, pair: Comparison, what: Quantity | Threshold, interval: Interval, null: float
) -> str:
    """Whether a claim stands after Holm's correction; of what is undecided, about how many seeds would settle it."""
    if interval.no_conclusion:
        return ""
    if interval.excludes(null):
        return "" if found.stands(pair, what) else f"; {UNCORRECTED}"
    seeds = interval.seeds_to_exclude(null)
    if seeds is None:
        return f"; {MOST_SEEDS} seeds would not settle a difference of this size"
    return f"; about {seeds} seeds would settle a difference of this size"


def _budget_sentences(
    found: GroupComparisons, pairs: Sequence[Comparison], threshold: Threshold, axis: str
) -> list[str]:
    """How much budget the arms need to reach one threshold."""
    what = f"To reach {with_unit(threshold.quantity)} {threshold.shown} ({threshold.origin}), in {AXES[axis].label}"
    ratios = {pair: mean_budget_ratio(pair, threshold, axis) for pair in pairs}
    if len(pairs) > FEW:
        verdicts = {pair: _ratio_verdict(ratio) for pair, ratio in ratios.items()}
        return [f"{what}, {_grouped(verdicts, found, threshold, 'needs less', 'needs more')}"]
    lines = []
    for pair, ratio in ratios.items():
        parts = [f"ratio {bracketed(pair.arm.name)} / {bracketed(pair.reference.name)} {show(ratio, 'ratio')}"]
        if isinstance(ratio, Interval):
            needed = _ratio_verdict(ratio)
            needs = f"{bracketed(pair.arm.name)} {needed}" if needed.startswith("needs") else needed
            parts = [needs, f"{parts[0]}, n = {ratio.n}{_caveat(found, pair, threshold, ratio, 1)}"]
        for arm in (pair.reference, pair.arm):
            budget = mean_budget(counted_crossings(arm, threshold, axis))
            parts.append(f"{bracketed(arm.name)} {show(budget, 'budget')}")
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


def _grouped(
    verdicts: Mapping[Comparison, str], found: GroupComparisons, what: Quantity | Threshold, *clear: str
) -> str:
    """`5 arms against r. Ahead: a; b. Behind: c. Not distinguishable: d. No conclusion: e.`"""
    references = listed(dict.fromkeys(pair.reference.name for pair in verdicts))
    sentences = [f"{len(verdicts)} arms against {references}"]
    known = (*clear, UNCLEAR)
    for one in (*known, None):
        names = [
            pair.arm.name if one not in clear or found.stands(pair, what) else f"{pair.arm.name} ({UNCORRECTED})"
            for pair, v in verdicts.items()
            if (v == one if one else v not in known)
        ]
        if names:
            sentences.append(f"{capitalised(one or 'no conclusion')}: {listed(names)}")
    return ". ".join(sentences) + "."


def _steps_sentence(group: Results) -> list[str]:
    """Optimiser steps and tokens of a step, of the runs that went furthest: a batch is no neutral setting."""
    each: dict[str, str] = {}
    for arm in group.arms:
        if last := max((run.last_row for run in arm.runs if run.last_row), key=lambda row: row.step, default=None):
            each[bracketed(arm.name)] = (
                f"{last.step:,} of {last.tokens / last.step:,.0f} tokens" if last.step else "none"
            )
    if not each:
        return []
    if len(set(each.values())) == 1:
        return [f"Optimiser steps in every arm: {next(iter(each.values()))}."]
    return [f"Optimiser steps: {'; '.join(f'{name} {value}' for name, value in each.items())}."]


def _supervision_sentence(group: Results) -> list[str]:
    each = {}
    for arm in group.arms:
        found = [d.realised for d in map(density, arm.runs) if d is not None]
        if found:
            each[bracketed(arm.name)] = f"{t_interval(found).mean:.3f}"
    if len(each) > 1 and len(set(each.values())) == 1:
        return [f"Targets per token read: {next(iter(each.values()))} in every arm."]
    return (
        [f"Targets per token read: {'; '.join(f'{bracketed(name)} {value}' for name, value in each.items())}."]
        if each
        else []
    )
