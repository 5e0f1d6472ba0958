"""Which arms are compared with which, whether they may be, and in plain words how it ends."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from analysis.records.pairing import Unpaired, require_paired
from analysis.records.quantities import lower_is_better
from analysis.records.results import Grid
from analysis.records.run_records import Arm, Missing
from analysis.statistics.intervals import Interval, paired_difference

UNCLEAR = "not distinguishable"


@dataclass(frozen=True)
class Comparison:
    """An arm against its reference over the seeds proved to be paired; or refused, with the reason."""

    arm: Arm
    reference: Arm
    seeds: tuple[int, ...]
    refusal: str | None = None

    @property
    def names(self) -> str:
        return f"{self.arm.name} − {self.reference.name}"

    def difference(self, quantity: str) -> Interval | Missing:
        """Paired difference of the final scores, arm − reference, with its t-interval over seeds."""
        if self.refusal is not None:
            return Missing("refused: not paired")
        ours, theirs = (self._paired(one.finals(quantity)) for one in (self.arm, self.reference))
        interval = paired_difference(ours, theirs)
        if interval is not None:
            return interval
        for one in (self.arm, self.reference):
            if not one.finals(quantity):
                return one.why_missing(quantity)
        return Missing("no seed finished in both arms")

    def _paired(self, scores: Mapping[int, float]) -> dict[int, float]:
        return {seed: score for seed, score in scores.items() if seed in self.seeds}

    def verdict(self, quantity: str) -> str:
        """Which arm is ahead at the end; only an interval that excludes 0 tells."""
        return in_words(self.difference(quantity), self, lower_is_better(quantity))


def in_words(difference: Interval | Missing, pair: Comparison, falling: bool) -> str:
    """`X is ahead`, `not distinguishable`, or why nothing can be said."""
    if isinstance(difference, Missing):
        return str(difference)
    if difference.silent:
        return difference.silent
    if not difference.excludes(0):
        return UNCLEAR
    ahead = pair.arm if (difference.mean > 0) != falling else pair.reference
    return f"{ahead.name} is ahead"


def compare(arm: Arm, reference: Arm) -> Comparison:
    """Verify the pairing of two arms; what is not paired is refused as a whole."""
    try:
        return Comparison(arm, reference, tuple(require_paired(arm, reference)))
    except Unpaired as refusal:
        return Comparison(arm, reference, (), str(refusal))


def comparisons(grid: Grid) -> list[Comparison]:
    """Every arm against its reference in its own family: the CLM arm, or in a family without one the baseline."""
    pairs = ((arm, family.reference(arm)) for family in grid.families for arm in family.arms)
    return [compare(arm, reference) for arm, reference in pairs if reference is not None]


def against_baseline(grid: Grid) -> list[Comparison]:
    """Every other MLM arm of a family against its baseline MLM arm."""
    baseline = grid.baseline()
    if baseline is None:
        return []
    return [compare(arm, baseline) for arm in grid.arms if arm is not baseline and arm.mask_rate is not None]
