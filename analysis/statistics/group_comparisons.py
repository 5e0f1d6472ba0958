"""What a report has to say of one family: which arms are compared, and which thresholds are looked at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from analysis.records.quantities import label
from analysis.records.results import Grid
from analysis.records.run_records import Missing
from analysis.statistics.compare import Comparison, comparisons
from analysis.statistics.thresholds import Threshold, telling, thresholds

Goals = dict[str, list[Threshold]]


@dataclass(frozen=True)
class Findings:
    """goals: thresholds by quantity, given ones last; spoken: those worth a sentence; missing: why some quantities
    have none.
    """

    grid: Grid
    pairs: list[Comparison]
    goals: Goals
    spoken: list[Threshold]
    asked: set[str]
    missing: list[str]


def find(family: Grid, given: Sequence[Threshold]) -> Findings:
    """Compare the arms of one family; `given` are thresholds asked for beside the automatic ones."""
    found = {quantity: thresholds(family, quantity) for quantity in family.yardsticks} if family.recorded else {}
    goals = {quantity: list(goal) for quantity, goal in found.items() if not isinstance(goal, Missing)}
    missing = [f"{label(q)}: no thresholds, {m.reason}." for q, m in found.items() if isinstance(m, Missing)]
    spoken = [telling(family, goals[q]) for q in family.main_yardsticks if q in goals]
    here = [goal for goal in given if goal.quantity in family.quantities]
    for goal in here:
        goals[goal.quantity] = [*goals.get(goal.quantity, []), goal]
    asked = {goal.quantity for goal in here}
    return Findings(family, comparisons(family), goals, [*spoken, *here], asked, missing)
