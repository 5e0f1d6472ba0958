"""Statistics of minimal pairs: how often a model prefers the good sentence to the bad one. Intervals are over pairs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy import special

LEVEL = 0.95


class Share(NamedTuple):
    """A share, or a difference of shares, with its interval; None where there is none."""

    value: float
    low: float | None
    high: float | None


def outcome(good: float, bad: float) -> float:
    """1 when the good sentence's is higher, 0 when the bad one's is, ½ for a tie."""
    return 0.5 if good == bad else float(good > bad)


def accuracy(outcomes: Sequence[float], level: float = LEVEL) -> Share:
    """Mean outcome, with Wilson's score interval (Wilson 1927)."""
    n, mean = len(outcomes), math.fsum(outcomes) / len(outcomes)
    z = float(special.ndtri((1 + level) / 2))
    centre, scale = mean + z * z / (2 * n), 1 + z * z / n
    half = z * math.sqrt(mean * (1 - mean) / n + z * z / (4 * n * n))
    return Share(mean, max(0.0, (centre - half) / scale), min(1.0, (centre + half) / scale))


def mean_paired_difference(outcomes: Sequence[float], reference: Sequence[float], level: float = LEVEL) -> Share:
    """Mean of outcome − reference over the same pairs, with Student's t-interval over pairs.

    No interval where all differences are equal, or there is one pair only.
    """
    differences = np.subtract(outcomes, reference)
    mean = float(differences.mean())
    if len(differences) < 2 or np.ptp(differences) == 0:
        return Share(mean, None, None)
    n = len(differences)
    half = float(special.stdtrit(n - 1, (1 + level) / 2) * differences.std(ddof=1) / math.sqrt(n))
    return Share(mean, mean - half, mean + half)
