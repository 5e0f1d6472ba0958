"""Supervision density: how many targets there are for each token read, and what a target costs in FLOPs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from analysis.records.run_records import Arm, RunRecords
from analysis.statistics.curves import Curve, curves_by_seed, interpolate
from analysis.statistics.intervals import Interval, t_interval
from experiments.records.quantities import Quantity

LADDER = ("tokens", "flops")
"""The budgets at which arms of different density are compared."""


@dataclass(frozen=True)
class Density:
    """Totals of one run at its last row: targets per token, nominal and realised, and per 10⁹ FLOPs."""

    nominal: float | None
    realised: float
    per_gigaflop: float | None
    """None when no FLOPs were recorded."""
    tokens: int
    targets: int


def density(run: RunRecords) -> Density | None:
    """Density of one run from the cumulative axes of its last row; None before the first token."""
    row = run.last_row
    if row is None or row.tokens <= 0:
        return None
    per_gigaflop = 1e9 * row.targets / row.flops if row.flops > 0 else None
    return Density(run.nominal_density, row.targets / row.tokens, per_gigaflop, row.tokens, row.targets)


@dataclass(frozen=True)
class Rung:
    """An arm on the ladder of supervision density: how dense, and its scores at budgets that all arms have spent."""

    density: float
    """Realised targets per token read, mean over the finished seeds."""
    scores: dict[str, Interval]
    """By axis of the budget that is equal for all: over the finished seeds."""


Ladder = dict[Arm, Rung]
"""That of one quantity."""


def density_ladder(arms: Sequence[Arm], quantity: Quantity) -> Ladder:
    """The arms with finished seeds, and what they score at the largest budget that every finished run has spent.

    On each axis of LADDER; between two snapshots a score is interpolated in the log of the budget.
    """
    curves = {
        axis: {arm: [curve for curve in curves_by_seed(arm, quantity, axis) if curve.finished] for arm in arms}
        for axis in LADDER
    }
    budgets = {
        axis: min((curve.x[-1] for some in by_arm.values() for curve in some), default=0.0)
        for axis, by_arm in curves.items()
    }
    found = {}
    for arm in arms:
        dense = [d.realised for run in arm.runs if run.finished and (d := density(run)) is not None]
        scores = {}
        for axis, budget in budgets.items():
            reached = [curve for curve in curves[axis][arm] if curve.x[0] <= budget]
            if reached:
                scores[axis] = t_interval(*zip(*(_score_at(curve, budget) for curve in reached), strict=True))
        if dense and scores:
            found[arm] = Rung(sum(dense) / len(dense), scores)
    return found


def _score_at(curve: Curve, budget: float) -> tuple[float, float]:
    """The score of a run at a budget within its curve, and its standard error."""
    score, error = (float(interpolate(curve.x, some, np.asarray([budget]))[0]) for some in (curve.y, curve.errors))
    return score, error
