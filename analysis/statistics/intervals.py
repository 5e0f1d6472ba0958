"""Intervals over seeds and over the items that scores are measured on. Formulas in README.md."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

LEVEL = 0.95
BISECTIONS = 50
MOST_SEEDS = 200
"""Asking for more is as much as saying that it cannot be settled."""


@dataclass(frozen=True)
class Measured:
    """A score of one run, or a difference of some, with its standard error over the items it was measured on."""

    value: float
    error: float = 0.0
    """0 where it has none, or none was recorded."""
    parts: tuple[float, ...] = ()
    """What each part of the items adds to its luck, where that is recorded."""
    difference: bool = False

    def __sub__(self, other: Measured) -> Measured:
        """The luck that both share cancels, part by part; as if they were measured on different items where no parts
        are recorded, which is on the safe side."""
        value, error = self.value - other.value, math.hypot(self.error, other.error)
        if not self.parts or len(self.parts) != len(other.parts):
            return Measured(value, error, difference=True)
        parts = np.subtract(self.parts, other.parts)
        return Measured(value, error_of_parts(parts), tuple(parts.tolist()), difference=True)


@dataclass(frozen=True)
class Interval:
    """A mean over n seeds; low and high are None where one seed gives no interval."""

    mean: float
    low: float | None
    high: float | None
    n: int
    agree: bool = False
    """Whether all seeds have the same value, as scores on a few hundred items may by chance."""
    spread: float = 0.0
    """Sample standard deviation over the seeds; of the logs where the interval is that of logs."""
    item_error: float = 0.0
    """Standard error over the items, of the logs likewise."""
    item_degrees: float = math.inf
    """Of freedom of that."""
    logarithmic: bool = False
    """Whether mean and ends are those of logs, exponentiated."""

    @property
    def no_conclusion(self) -> str:
        """Why nothing follows: one seed, or seeds that agree exactly; else ""."""
        if self.low is None or self.high is None:
            return "one seed, no interval"
        return "the seeds agree exactly, so how much others would differ is not known" if self.agree else ""

    def excludes(self, null: float) -> bool:
        """True when a conclusion can be drawn and `null` lies outside: the difference is distinguishable."""
        if self.no_conclusion or self.low is None or self.high is None:
            return False
        return not self.low <= null <= self.high

    def p_value(self, null: float) -> float:
        """1 less the level of the smallest interval that holds `null`; 1 where there is no conclusion."""
        if self.no_conclusion:
            return 1.0
        distance, low, high = self._distance(null), 0.0, 1.0
        for _ in range(BISECTIONS):
            middle = (low + high) / 2
            low, high = (low, middle) if self._half_width(self.n, middle) < distance else (middle, high)
        return high

    def seeds_to_exclude(self, null: float) -> int | None:
        """About how many seeds would exclude `null` if mean and spread stayed as they are; None where no number of
        seeds would (the items are too few), up to MOST_SEEDS, or where there is no conclusion."""
        if self.no_conclusion:
            return None
        distance = self._distance(null)
        return next((n for n in range(self.n, MOST_SEEDS + 1) if self._half_width(n, 1 - LEVEL) < distance), None)

    def _distance(self, null: float) -> float:
        return abs(math.log(self.mean / null)) if self.logarithmic else abs(self.mean - null)

    def _half_width(self, n: int, alpha: float) -> float:
        return float(combined_half_width(self.spread, n, self.item_error, self.item_degrees, alpha))


def combined_half_width(spread: Any, n: int, item_error: Any, item_degrees: float, alpha: float = 1 - LEVEL) -> Any:
    """√((t(n−1) · spread/√n)² + (t(item_degrees) · item_error)²), with quantiles above which α / 2 lies.

    Args:
        spread: sample standard deviation over n >= 2 seeds.
        item_error: standard error over the items, which seeds are measured on alike: their luck is the same in all of
            them and does not shrink with n.
        item_degrees: of freedom of that; ∞ for z.
    """
    seeds = _upper_quantile(n - 1, alpha) * spread / math.sqrt(n)
    return np.hypot(seeds, _upper_quantile(item_degrees, alpha) * item_error)


def half_width(sample: NDArray[np.float64], errors: ArrayLike = 0.0) -> NDArray[np.float64]:
    """That of the mean of (n, ...) values of n seeds, with (n, ...) standard errors over items; the square of theirs is
    the mean of the squares."""
    by_seed = np.broadcast_to(np.asarray(errors, dtype=np.float64), sample.shape)
    item_error = np.sqrt(np.square(by_seed).mean(0))
    return combined_half_width(sample.std(0, ddof=1), sample.shape[0], item_error, math.inf)


@lru_cache(maxsize=10_000)
def _upper_quantile(degrees: float, alpha: float) -> float:
    """That of Student's t, or of the normal distribution for ∞ degrees of freedom, above which α / 2 lies."""
    from scipy import special  # takes longer to import than all that `report --help` needs

    upper = 1 - alpha / 2
    return float(special.ndtri(upper) if degrees == math.inf else special.stdtrit(degrees, upper))


def error_of_parts(parts: NDArray[np.float64]) -> Any:
    """√(K/(K−1) · Σ p²) over the first axis, of K parts whose sum is 0."""
    count = parts.shape[0]
    return np.sqrt(count / (count - 1) * np.square(parts).sum(0))


def t_interval(values: Iterable[float], errors: Iterable[float] = ()) -> Interval:
    """mean ± half_width; `errors`, one for each value, are 0 when not given. Raises ValueError on no values."""
    sample, by_seed = np.asarray(list(values), dtype=np.float64), np.asarray(list(errors) or [0.0])
    return _interval(sample, math.sqrt(np.square(by_seed).mean()), math.inf)


def _interval(sample: NDArray[np.float64], item_error: float, item_degrees: float) -> Interval:
    n = sample.size
    if n == 0:
        raise ValueError("an interval needs at least one value")
    mean = float(sample.mean())
    if n == 1:
        return Interval(mean, None, None, 1)
    agree = bool(np.ptp(sample) <= 1e-9 * max(1.0, abs(mean)))
    found = Interval(mean, None, None, n, agree, float(sample.std(ddof=1)), item_error, item_degrees)
    half = found._half_width(n, 1 - LEVEL)
    return replace(found, low=mean - half, high=mean + half)


def interval_of(scores: Iterable[Measured]) -> Interval:
    """Interval of scores by their standard errors; of differences by their parts, where all have them."""
    found = list(scores)
    if found and all(one.difference and one.parts for one in found):
        sample, parts = np.asarray([one.value for one in found]), np.asarray([one.parts for one in found])
        return _interval(sample, float(error_of_parts(parts.mean(0))), parts.shape[1] - 1)
    return t_interval((one.value for one in found), (one.error for one in found))


def paired_difference(arm: Mapping[int, Measured], reference: Mapping[int, Measured]) -> Interval | None:
    """Interval of arm − reference over the seeds that both have; None when there is none."""
    seeds = sorted(arm.keys() & reference.keys())
    return interval_of(arm[s] - reference[s] for s in seeds) if seeds else None


def log_interval(values: Iterable[float], errors: Iterable[float] = ()) -> Interval:
    """Geometric mean with the interval of the logs, back on the original scale; values must be positive.

    Args:
        errors: standard errors of the logs, which are those of the values over the values.
    """
    inner = t_interval((math.log(value) for value in values), errors)
    low, high = (None if end is None else math.exp(end) for end in (inner.low, inner.high))
    return replace(inner, mean=math.exp(inner.mean), low=low, high=high, logarithmic=True)


def log_interval_of(scores: Iterable[Measured]) -> Interval:
    """log_interval of scores and their standard errors."""
    found = list(scores)
    return log_interval((one.value for one in found), (one.error / one.value for one in found))
