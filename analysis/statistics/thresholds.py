"""The scores whose budget is reported: fractions of the gain over chance, and those that the user requests."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from analysis.records.quantities import EXCESS_LOSS, WORD_SWAP
from analysis.records.results import Results
from analysis.records.run_records import Missing
from analysis.statistics.curves import curves_by_seed

FRACTIONS = (0.5, 0.75, 0.9)
EXCESS_STEPS = (0.5, 0.2, 0.1, 0.05, 0.02, 0.01)
"""Thresholds of the excess loss, in nats per target."""


@dataclass(frozen=True)
class Threshold:
    """A score to be reached, and in words where it comes from."""

    quantity: str
    value: float
    origin: str


ThresholdsByQuantity = dict[str, list[Threshold]]


def automatic_thresholds(results: Results, quantity: str) -> list[Threshold] | Missing:
    """FRACTIONS of the gain to the best arm's mean final score, from chance or from the first snapshot.

    The start is the higher of chance (the majority class's accuracy, or ½) and the best arm's mean score at its first
    snapshot: the features of an untrained encoder already beat the majority class, so a threshold below them is met
    before anything was learned. Of the excess loss: those of EXCESS_STEPS that runs cross.
    """
    if quantity == EXCESS_LOSS:
        return _excess_thresholds(results)
    finals = {arm.name: list(arm.final_scores(quantity).values()) for arm in results.arms}
    means = {name: float(np.mean(scores)) for name, scores in finals.items() if scores}
    if not means:
        return Missing("no finished run to take the best score from")
    best = max(means, key=lambda name: means[name])
    start, source = _start(results, quantity)
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


def _start(results: Results, quantity: str) -> tuple[float, str]:
    """Where the gain is counted from, and what that is in words."""
    firsts = [[curve.y[0] for curve in curves_by_seed(arm, quantity, "tokens")] for arm in results.arms]
    start = max(float(np.mean(first)) for first in firsts if first)
    chance = results.chance(quantity)
    if chance is not None and chance >= start:
        return chance, "chance" if quantity == WORD_SWAP else "the majority class"
    return start, "the best first snapshot"


def _excess_thresholds(results: Results) -> list[Threshold] | Missing:
    """The steps that at least one run has reached, less those that every run had reached at its first snapshot."""
    seeds = [curve.y for arm in results.arms for curve in curves_by_seed(arm, EXCESS_LOSS, "tokens")]
    crossed = [step for step in EXCESS_STEPS if any(y.min() <= step for y in seeds) and any(y[0] > step for y in seeds)]
    if not crossed:
        steps = ", ".join(f"{step:g}" for step in EXCESS_STEPS)
        return Missing(f"no run crosses any of {steps} after its first snapshot")
    return [Threshold(EXCESS_LOSS, step, "a fixed step of excess loss") for step in crossed]


def representative(results: Results, thresholds: list[Threshold]) -> Threshold:
    """The threshold worth a sentence: the middle one, or the smallest excess loss that every finished run reached."""
    if thresholds[0].quantity == EXCESS_LOSS:
        curves = [curve for arm in results.arms for curve in curves_by_seed(arm, EXCESS_LOSS, "tokens")]
        lowest = [curve.y.min() for curve in curves if curve.finished]
        reached = [threshold for threshold in thresholds if lowest and max(lowest) <= threshold.value]
        if reached:
            return reached[-1]
    return thresholds[len(thresholds) // 2]


def parse_threshold(text: str) -> tuple[str, float]:
    """`QUANTITY=VALUE` as given on the command line. Raises ValueError when it is not."""
    quantity, _, value = text.rpartition("=")
    try:
        number = float(value)
    except ValueError:
        number = float("nan")
    if not quantity or not np.isfinite(number):
        raise ValueError(f"threshold {text!r} is not QUANTITY=VALUE, such as {WORD_SWAP}=0.6")
    return quantity, number


def requested_threshold(results: Results, quantity: str, value: float) -> Threshold:
    """A threshold that the user requests. Raises ValueError when no run has recorded the quantity."""
    if results.recorded and quantity not in results.quantities:
        raise ValueError(f"no run recorded {quantity!r}; recorded are {', '.join(results.quantities)}")
    return Threshold(quantity, value, "as requested")
