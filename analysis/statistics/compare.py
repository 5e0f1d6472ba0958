"""Final scores: an arm's mean, which arms are compared with which, and in words how the comparison ends."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from analysis.records.labels import bracketed
from analysis.records.pairing import Unpaired, require_paired
from analysis.records.results import Results
from analysis.records.run_records import Arm, Missing, RunRecords
from analysis.statistics.intervals import Interval, Measured, interval_of, paired_difference
from analysis.statistics.item_errors import final_scores
from experiments.records.quantities import Quantity

UNCLEAR = "not distinguishable"
REFUSED = Missing("refused: not paired")
OTHER_QUESTION = Missing("the two arms answer different questions")


def measured_alike(left: RunRecords, right: RunRecords, quantity: Quantity) -> bool:
    """False when both recorded a quantity, but measured it with different settings."""
    if not (quantity.name in left.series and quantity.name in right.series):
        return True
    identities = [metric and metric.identity for metric in (left.metric(quantity), right.metric(quantity))]
    return identities[0] == identities[1]


def mean_final_score(arm: Arm, quantity: Quantity) -> Interval | Missing:
    """Mean final score over the finished seeds with its interval, or why there is none."""
    scores = final_scores(arm, quantity)
    return interval_of(scores.values()) if scores else arm.why_missing(quantity)


@dataclass(frozen=True, eq=False)
class Comparison:
    """An arm against its reference over the seeds proved to be paired; or refused, with the reason."""

    arm: Arm
    reference: Arm
    seeds: tuple[int, ...]
    refusal: str | None = None

    @property
    def names(self) -> str:
        return f"{bracketed(self.arm.name)} − {bracketed(self.reference.name)}"

    def difference(self, quantity: Quantity) -> Interval | Missing:
        """Paired difference of the final scores, arm − reference, with its interval."""
        why_not = self.incomparable(quantity)
        if why_not is not None:
            return why_not
        ours, theirs = (self._paired(final_scores(one, quantity)) for one in (self.arm, self.reference))
        interval = paired_difference(ours, theirs)
        if interval is not None:
            return interval
        for one in (self.arm, self.reference):
            if not one.final_scores(quantity):
                return one.why_missing(quantity)
        return Missing("no seed finished in both arms")

    def incomparable(self, quantity: Quantity) -> Missing | None:
        """Why the two arms cannot be compared by a quantity, if so."""
        if self.refusal is not None:
            return REFUSED
        questions = {self.arm.traits.question, self.reference.traits.question}
        if quantity.comparable != "all" and (quantity.comparable == "" or len(questions) > 1):
            return OTHER_QUESTION
        for seed in self.seeds:
            ours, theirs = self.arm.run(seed), self.reference.run(seed)
            assert ours is not None and theirs is not None
            if not measured_alike(ours, theirs, quantity):
                return Missing(f"measured with other settings in {ours.name} than in {theirs.name}")
        return None

    def _paired(self, scores: Mapping[int, Measured]) -> dict[int, Measured]:
        return {seed: score for seed, score in scores.items() if seed in self.seeds}

    def ahead(self, quantity: Quantity) -> Arm | None:
        """The arm that is ahead at the end; None unless the interval excludes 0."""
        difference = self.difference(quantity)
        if isinstance(difference, Missing) or not difference.excludes(0):
            return None
        return self.arm if (difference.mean > 0) != (quantity.better == "lower") else self.reference

    def verdict(self, quantity: Quantity) -> str:
        """`X is ahead`, `not distinguishable`, or why there is no conclusion."""
        ahead, difference = self.ahead(quantity), self.difference(quantity)
        if ahead is not None:
            return f"{ahead.name} is ahead"
        return str(difference) if isinstance(difference, Missing) else difference.no_conclusion or UNCLEAR


def other_settings(group: Results) -> list[str]:
    """Which scores were measured with different settings in the runs of a data group."""
    found = []
    for quantity in group.quantities:
        runs = [run for run in group.runs if quantity.comparable and quantity.name in run.series]
        other = [run.name for run in runs if not measured_alike(runs[0], run, quantity)]
        if other:
            found.append(
                f"{quantity.label} was measured with other settings in {'; '.join(other)} than in {runs[0].name}, so "
                f"these are not compared by it; clm-vs-mlm evaluate {group.directory} --config FILE, with one list of "
                f"metrics in FILE, measures all alike."
            )
    return found


def compare(arm: Arm, reference: Arm) -> Comparison:
    """Verify the pairing of two arms; what is not paired is refused as a whole."""
    try:
        return Comparison(arm, reference, tuple(require_paired(arm, reference)))
    except Unpaired as refusal:
        return Comparison(arm, reference, (), str(refusal))


def comparisons(results: Results) -> list[Comparison]:
    """Every arm against its reference in its own data group."""
    pairs = ((arm, group.reference(arm)) for group in results.data_groups for arm in group.arms)
    return [compare(arm, reference) for arm, reference in pairs if reference is not None]
