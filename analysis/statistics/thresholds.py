"""The scores whose budget is reported: fractions of the gain over chance, and what the user asks for."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from analysis.records.quantities import EXCESS, label
from analysis.records.results import Grid
from analysis.records.run_records import Missing
from analysis.statistics.curves import lines

FRACTIONS = (0.5, 0.75, 0.9)
LADDER = (0.5, 0.2, 0.1, 0.05, 0.02, 0.01)
"""Excesses, in nats per target above the best possible loss."""


@dataclass(frozen=True)
class Threshold:
    """A score to be reached, and in words where it comes from."""

    quantity: str
    value: float
    origin: str


def thresholds(grid: Grid, quantity: str) -> list[Threshold] | Missing:
    """FRACTIONS of the gain to the best arm's mean final score, from chance or from the first snapshot.

    The start is the higher of chance (the majority class's accuracy, or ½) and the best arm's mean score at its first
    snapshot: the features of an untrained encoder already beat the majority class, so a threshold below them is met
    before anything was learned. Of the excess: the rungs of LADDER.
    """
    if quantity == EXCESS:
        return _rungs(grid)
    finals = {arm.name: list(arm.finals(quantity).values()) for arm in grid.arms}
    means = {name: float(np.mean(scores)) for name, scores in finals.items() if scores}
    if not means:
        return Missing("no finished run to take the best score from")
    best = max(means, key=lambda name: means[name])
    seeds = [[line.y[0] for line in lines(arm, quantity, "tokens")] for arm in grid.arms]
    start, source = max(float(np.mean(first)) for first in seeds if first), "the best first snapshot"
    chance = grid.chance(quantity)
    if chance is not None and chance >= start:
        start, source = chance, "chance" if quantity == "word_swap/accuracy" else "the majority class"
    if means[best] <= start:
        return Missing(f"no arm ends above {source}, {start:.3f}")
    return [
        Threshold(
            quantity,
            start + fraction * (means[best] - start),
            f"{100 * fraction:g} % of the way from {source} ({start:.3f}) to {best} ({means[best]:.3f})",
        )
        for fraction in FRACTIONS
    ]


def _rungs(grid: Grid) -> list[Threshold] | Missing:
    """The rungs that at least one run has reached, less those that every run had reached at its first snapshot."""
    seeds = [line.y for arm in grid.arms for line in lines(arm, EXCESS, "tokens")]
    crossed = [r for r in LADDER if any(y.min() <= r for y in seeds) and any(y[0] > r for y in seeds)]
    if not crossed:
        return Missing(f"no run crosses any of {', '.join(f'{rung:g}' for rung in LADDER)} after its first snapshot")
    return [Threshold(EXCESS, rung, "a fixed step of excess") for rung in crossed]


def telling(grid: Grid, goals: list[Threshold]) -> Threshold:
    """The threshold worth a sentence: the middle one, or the smallest excess that every finished run reached."""
    if goals[0].quantity == EXCESS:
        runs = [line for arm in grid.arms for line in lines(arm, EXCESS, "tokens")]
        finished = [line.y.min() for line in runs if line.finished]
        reached = [goal for goal in goals if finished and max(finished) <= goal.value]
        if reached:
            return reached[-1]
    return goals[len(goals) // 2]


def parse_threshold(text: str) -> tuple[str, float]:
    """`QUANTITY=VALUE` as given on the command line. Raises ValueError when it is not."""
    quantity, _, value = text.rpartition("=")
    try:
        number = float(value)
    except ValueError:
        number = float("nan")
    if not quantity or not np.isfinite(number):
        raise ValueError(f"threshold {text!r} is not QUANTITY=VALUE, such as word_swap/accuracy=0.6")
    return quantity, number


def given_threshold(grid: Grid, quantity: str, value: float) -> Threshold:
    """A threshold the user asks for. Raises ValueError when no run has recorded the quantity."""
    if grid.recorded and quantity not in grid.quantities:
        raise ValueError(f"no run recorded {quantity!r}; recorded are {', '.join(grid.quantities)}")
    return Threshold(quantity, value, f"given for {label(quantity)}")
