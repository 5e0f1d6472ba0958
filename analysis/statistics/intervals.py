"""Student's t-intervals over seeds: means, paired differences, log-ratios. Formulas in README.md."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

LEVEL = 0.95


@dataclass(frozen=True)
class Interval:
    """A mean over n seeds; low and high are None where one seed gives no interval."""

    mean: float
    low: float | None
    high: float | None
    n: int

    @property
    def no_conclusion(self) -> str:
        """Why nothing follows: one seed, or no width (scores on a few hundred items may agree by chance); else ""."""
        if self.low is None or self.high is None:
            return "one seed, no interval"
        flat = self.high - self.low <= 1e-9 * max(1.0, abs(self.mean))
        return "the seeds agree exactly, so the interval has no width" if flat else ""

    def excludes(self, null: float) -> bool:
        """True when a conclusion can be drawn and `null` lies outside: the difference is distinguishable."""
        if self.no_conclusion or self.low is None or self.high is None:
            return False
        return not self.low <= null <= self.high


def half_width(sample: NDArray[np.float64]) -> NDArray[np.float64]:
    """t(n−1) · s/√n over the first axis, of n >= 2 values, s the sample standard deviation (Student 1908)."""
    from scipy import stats  # takes longer to import than all that `report --help` needs

    return stats.t.ppf((1 + LEVEL) / 2, sample.shape[0] - 1) * stats.sem(sample)


def t_interval(values: Iterable[float]) -> Interval:
    """mean ± half_width. Raises ValueError on no values."""
    sample = np.asarray(list(values), dtype=np.float64)
    n = sample.size
    if n == 0:
        raise ValueError("an interval needs at least one value")
    mean = float(sample.mean())
    if n == 1:
        return Interval(mean, None, None, 1)
    half = float(half_width(sample))
    return Interval(mean, mean - half, mean + half, n)


def paired_difference(arm: Mapping[int, float], reference: Mapping[int, float]) -> Interval | None:
    """t-interval of arm − reference over the seeds that both have; None when there is none."""
    seeds = sorted(arm.keys() & reference.keys())
    return t_interval(arm[s] - reference[s] for s in seeds) if seeds else None


def log_interval(values: Iterable[float]) -> Interval:
    """Geometric mean with the t-interval of the logs, back on the original scale; values must be positive."""
    inner = t_interval(math.log(value) for value in values)
    low, high = (None if end is None else math.exp(end) for end in (inner.low, inner.high))
    return Interval(math.exp(inner.mean), low, high, inner.n)
