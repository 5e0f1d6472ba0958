"""What a report compares within one data group: its pairs of arms, and the thresholds of its quantities."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from analysis.records.labels import with_unit
from analysis.records.results import Results
from analysis.records.run_records import Missing
from analysis.statistics.compare import Comparison, comparisons
from analysis.statistics.convergence import mean_budget_ratio
from analysis.statistics.holm import holm
from analysis.statistics.intervals import LEVEL, Interval
from analysis.statistics.thresholds import (
    Threshold,
    ThresholdsByQuantity,
    automatic_thresholds,
    representative,
    requested_thresholds,
)
from experiments.records.quantities import Quantity


@dataclass(frozen=True, eq=False)
class GroupComparisons:
    """The pairs and thresholds of one data group."""

    results: Results
    pairs: list[Comparison]
    thresholds: ThresholdsByQuantity
    """Requested ones come last."""
    headline: list[Threshold]
    """Those worth a sentence in the summary."""
    requested: set[str]
    """The names of the quantities of requested thresholds."""
    missing: list[str]
    """Why some quantities have no automatic threshold."""
    axis: str
    """Of the budgets that the summary speaks of."""

    @cached_property
    def adjusted(self) -> dict[tuple[Comparison, Quantity | Threshold], float]:
        """p-values of all that the summary compares, differences of scores and ratios of budgets, after Holm's
        correction for their number."""
        compared = [pair for pair in self.pairs if pair.refusal is None]
        found: dict[tuple[Comparison, Quantity | Threshold], float] = {}
        for pair in compared:
            for quantity in self.results.headline_metrics:
                if isinstance(difference := pair.difference(quantity), Interval):
                    found[pair, quantity] = difference.p_value(0)
            for threshold in self.headline:
                if isinstance(ratio := mean_budget_ratio(pair, threshold, self.axis), Interval):
                    found[pair, threshold] = ratio.p_value(1)
        return holm(found)

    def stands(self, pair: Comparison, what: Quantity | Threshold) -> bool:
        """Whether a comparison still stands after Holm's correction."""
        return self.adjusted.get((pair, what), 1.0) <= 1 - LEVEL


def compare_within(group: Results, requested: Sequence[tuple[str, float]], axis: str = "tokens") -> GroupComparisons:
    """Compare the arms of one data group; `requested` are thresholds beside the automatic ones."""
    metrics = group.shared_metrics if group.recorded else []
    found = [(quantity, automatic_thresholds(group, quantity)) for quantity in metrics]
    missing = [f"{with_unit(q)}: no thresholds, {m.reason}." for q, m in found if isinstance(m, Missing)]
    thresholds = {q.name: list(some) for q, some in found if not isinstance(some, Missing)}
    headline = [representative(group, thresholds[q.name]) for q in group.headline_metrics if q.name in thresholds]
    here = requested_thresholds(group, requested)
    for threshold in here:
        thresholds.setdefault(threshold.quantity.name, []).append(threshold)
    names = {threshold.quantity.name for threshold in here}
    return GroupComparisons(group, comparisons(group), thresholds, [*headline, *here], names, missing, axis)
