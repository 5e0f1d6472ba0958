"""The scores whose budget is reported: fractions of the gain over the baselines, and those that the user requests."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from analysis.records.labels import bracketed
from analysis.records.results import Results
from analysis.records.run_records import Missing
from analysis.statistics.curves import curves_by_seed
from analysis.statistics.levels import levels_of
from experiments.records.quantities import Quantity

FRACTIONS = (0.5, 0.75, 0.9)
LADDER = (1, 2, 5)
"""Thresholds on the log scale are these times a power of ten."""
MOST = 6
"""Of those, only the hardest so many."""


@dataclass(frozen=True)
class Threshold:
    """A score to be reached, and in words where it comes from."""

    quantity: Quantity
    value: float
    origin: str

    @property
    def shown(self) -> str:
        return f"{self.value:g}" if self.quantity.scale == "log" else f"{self.value:.3f}"


ThresholdsByQuantity = dict[str, list[Threshold]]
"""By the name of the quantity."""


def automatic_thresholds(results: Results, quantity: Quantity) -> list[Threshold] | Missing:
    """FRACTIONS of the way to the best arm's mean final score, from a baseline or from the first snapshot.

    The start is the best of chance, the baselines, and the best arm's mean score at its first snapshot: the features of
    an untrained encoder already beat the majority class, so a threshold below them is met before anything was learned.
    On the log scale: those steps of the ladder 1, 2, 5, 10 that runs cross.
    """
    if quantity.scale == "log":
        return _ladder_thresholds(results, quantity)
    sign = -1 if quantity.better == "lower" else 1
    finals = {arm.name: list(arm.final_scores(quantity).values()) for arm in results.arms}
    means = {name: float(np.mean(scores)) for name, scores in finals.items() if scores}
    if not means:
        return Missing("no finished run to take the best score from")
    best = max(means, key=lambda name: sign * means[name])
    start, source = _start(results, quantity, sign)
    if sign * (means[best] - start) <= 0:
        return Missing(f"no arm ends {'below' if sign < 0 else 'above'} {source}, {start:.3f}")
    return [
        Threshold(
            quantity,
            start + fraction * (means[best] - start),
            f"{100 * fraction:g} % of the way from {source} ({start:.3f}) to {bracketed(best)} ({means[best]:.3f})",
        )
        for fraction in FRACTIONS
    ]


def _start(results: Results, quantity: Quantity, sign: int) -> tuple[float, str]:
    """Where the gain is counted from, and what that is in words."""
    firsts = [[curve.y[0] for curve in curves_by_seed(arm, quantity, "tokens")] for arm in results.arms]
    first = max(sign * float(np.mean(values)) for values in firsts if values)
    baselines = [level for level in levels_of(results, quantity) if not level.bounds]
    starts = [(sign * value, level.name) for level in baselines for value in level.values]
    start, source = max([*starts, (first, "the best first snapshot")], key=lambda found: found[0])
    return sign * start, source


def _ladder_thresholds(results: Results, quantity: Quantity) -> list[Threshold] | Missing:
    """The steps that at least one run has reached, less those that every run had reached at its first snapshot."""
    sign = -1 if quantity.better == "lower" else 1
    seeds = [curve.y for arm in results.arms for curve in curves_by_seed(arm, quantity, "tokens")]
    positive = np.concatenate([y[y > 0] for y in seeds]) if seeds else np.empty(0)
    if not positive.size:
        return Missing("no value above 0 was recorded")
    decades = range(math.floor(math.log10(positive.min())), math.ceil(math.log10(positive.max())) + 1)
    steps = sorted((step * 10.0**decade for decade in decades for step in LADDER), key=lambda step: sign * step)
    crossed = [
        step
        for step in steps
        if any((sign * y >= sign * step).any() for y in seeds) and any(sign * y[0] < sign * step for y in seeds)
    ]
    if not crossed:
        return Missing("no run crosses any step of 1, 2, 5, 10 after its first snapshot")
    return [Threshold(quantity, step, "a step of the ladder 1, 2, 5, 10") for step in crossed[-MOST:]]


def representative(results: Results, thresholds: list[Threshold]) -> Threshold:
    """The threshold worth a sentence: the middle one, or the hardest step of a ladder that every finished run
    reached.
    """
    quantity = thresholds[0].quantity
    if quantity.scale == "log":
        sign = -1 if quantity.better == "lower" else 1
        curves = [curve for arm in results.arms for curve in curves_by_seed(arm, quantity, "tokens")]
        bests = [float((sign * curve.y).max()) for curve in curves if curve.finished]
        reached = [threshold for threshold in thresholds if bests and min(bests) >= sign * threshold.value]
        if reached:
            return reached[-1]
    return thresholds[len(thresholds) // 2]


def parse_threshold(text: str) -> tuple[str, float]:
    """`QUANTITY=VALUE` as given on the command line. Raises ValueError when it is not."""
    name, _, value = text.rpartition("=")
    try:
        number = float(value)
    except ValueError:
        number = float("nan")
    if not name or not np.isfinite(number):
        raise ValueError(f"threshold {text!r} is not QUANTITY=VALUE, such as metric/accuracy=0.6")
    return name, number


def requested_thresholds(group: Results, requested: Sequence[tuple[str, float]]) -> list[Threshold]:
    """Those of the thresholds requested whose quantity the data group has recorded."""
    by_name = {quantity.name: quantity for quantity in group.quantities}
    return [Threshold(by_name[name], value, "as requested") for name, value in requested if name in by_name]


def check_requested(results: Results, requested: Sequence[tuple[str, float]]) -> None:
    """Raises ValueError when no run has recorded a quantity, or nothing says which way it is better."""
    if not results.recorded:
        return
    scores = {quantity.name for quantity in results.quantities if quantity.better}
    for name, _ in requested:
        if name not in scores:
            raise ValueError(f"no run recorded a score {name!r}; recorded are {', '.join(sorted(scores))}")
