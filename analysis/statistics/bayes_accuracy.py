"""Ceilings of a probe: the accuracy of the best possible guess, by how much of the text the guess may use."""

from __future__ import annotations

from dataclasses import dataclass

from analysis.records.quantities import EXCESS, ceiling_quantity
from analysis.records.results import Grid
from analysis.records.run_records import Arm, Missing
from analysis.statistics.intervals import Interval

VIEWS = {
    "token": "token alone",
    "past": "past only: ceiling of any causal model",
    "both": "both sides: ceiling of any model",
}


@dataclass(frozen=True)
class Ceilings:
    """Best possible accuracy of one probe, by view."""

    quantity: str
    token: float
    past: float
    both: float

    @property
    def labelled(self) -> list[tuple[str, str, float]]:
        """View, its name in words, and its accuracy, from the lowest."""
        return [(view, words, getattr(self, view)) for view, words in VIEWS.items()]


def ceilings(grid: Grid) -> list[Ceilings]:
    """Of every probe accuracy for which all three were recorded."""
    found = []
    for quantity in (q for q in grid.yardsticks if q.endswith("/accuracy")):
        values = {view: grid.constant(ceiling_quantity(quantity, view)) for view in VIEWS}
        known = {view: value for view, value in values.items() if value is not None}
        if len(known) == len(VIEWS):
            found.append(Ceilings(quantity, **known))
    return found


def ceilings_of(grid: Grid, quantity: str) -> Ceilings | None:
    return next((known for known in ceilings(grid) if known.quantity == quantity), None)


def is_calibrated(grid: Grid) -> bool:
    """True where the distance to the best possible loss and to the best possible probe are both known."""
    return EXCESS in grid.quantities and bool(ceilings(grid))


def reading(arm: Arm, score: Interval | Missing, past: float) -> str:
    """Where an arm's interval over seeds lies beside the ceiling of causal models."""
    if isinstance(score, Missing):
        return str(score)
    if score.silent or score.low is None or score.high is None:
        return score.silent
    if score.low > past:
        if arm.objective == "CLM":
            return "above what any causal model can reach, which it is: luck of the test blocks, or an error"
        return "above what any causal model can reach"
    if score.high < past:
        return "below what a causal model can reach at best"
    return "not distinguishable from the best that a causal model can reach"
