"""What a report compares within one data group: its pairs of arms, and the thresholds of its quantities."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from analysis.records.quantities import label
from analysis.records.results import Results
from analysis.records.run_records import Missing
from analysis.statistics.compare import Comparison, comparisons
from analysis.statistics.thresholds import Threshold, ThresholdsByQuantity, automatic_thresholds, representative


@dataclass(frozen=True)
class GroupComparisons:
    """The pairs and thresholds of one data group."""

    results: Results
    pairs: list[Comparison]
    thresholds: ThresholdsByQuantity
    """Requested ones come last."""
    headline: list[Threshold]
    """Those worth a sentence in the summary."""
    requested: set[str]
    """The quantities of requested thresholds."""
    missing: list[str]
    """Why some quantities have no automatic threshold."""


def compare_within(group: Results, requested: Sequence[Threshold]) -> GroupComparisons:
    """Compare the arms of one data group; `requested` are thresholds beside the automatic ones."""
    metrics = group.shared_metrics if group.recorded else []
    found = {quantity: automatic_thresholds(group, quantity) for quantity in metrics}
    missing = [f"{label(q)}: no thresholds, {m.reason}." for q, m in found.items() if isinstance(m, Missing)]
    thresholds = {quantity: list(some) for quantity, some in found.items() if not isinstance(some, Missing)}
    headline = [representative(group, thresholds[q]) for q in group.main_metrics if q in thresholds]
    here = [threshold for threshold in requested if threshold.quantity in group.quantities]
    for threshold in here:
        thresholds.setdefault(threshold.quantity, []).append(threshold)
    quantities = {threshold.quantity for threshold in here}
    return GroupComparisons(group, comparisons(group), thresholds, [*headline, *here], quantities, missing)
