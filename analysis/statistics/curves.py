"""Curves over seeds: reading one between two snapshots, what it would be without noise, the mean of several."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from analysis.records.run_records import Arm, Array
from analysis.statistics.intervals import half_width
from analysis.statistics.item_errors import CACHED, item_errors
from experiments.records.quantities import Quantity

POINTS = 60


@dataclass(frozen=True)
class Curve:
    """One quantity of one run along one axis."""

    seed: int
    x: Array
    y: Array
    finished: bool
    errors: Array
    """Standard errors of y over the items that it was measured on; 0 where none is recorded."""


@dataclass(frozen=True)
class MeanCurve:
    """Mean over n seeds with its interval; `interpolated` when the seeds were not recorded at the same places."""

    x: Array
    mean: Array
    low: Array | None
    high: Array | None
    n: int
    interpolated: bool


@lru_cache(maxsize=CACHED)
def curves_by_seed(arm: Arm, quantity: Quantity, axis: str) -> list[Curve]:
    """Every seed's curve; a run that has no finite value of the quantity has none."""
    found = []
    for run in arm.runs:
        series = run.series.get(quantity.name)
        if series is not None and series.values.size:
            found.append(Curve(run.seed, series.along(axis), series.values, run.finished, item_errors(run, quantity)))
    return found


def budget_between(left: float, right: float, fraction: float) -> float:
    """The budget a fraction of the way from one to the next: on the log scale, or linearly from a budget of 0."""
    if left <= 0:
        return left + fraction * (right - left)
    return float(left * (right / left) ** fraction)


def interpolate(curve_x: Array, curve_y: Array, x: Array) -> Array:
    """Values at budgets x within the curve's range, linear in log budget (in budget, within a segment from 0)."""
    if curve_x.size == 1:
        return np.full(x.shape, curve_y[0])
    index = np.clip(np.searchsorted(curve_x, x, side="right") - 1, 0, curve_x.size - 2)
    left, right = curve_x[index], curve_x[index + 1]
    positive = left > 0
    safe = np.where(positive, left, 1.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        logarithmic = np.log(np.maximum(x, 1e-300) / safe) / np.log(np.where(positive, right / safe, 2.0))
        linear = (x - left) / (right - left)
    fraction = np.where(positive, logarithmic, linear)
    fraction = np.clip(np.where(np.isnan(fraction), 1.0, fraction), 0.0, 1.0)
    between = curve_y[index] * (1 - fraction) + curve_y[index + 1] * fraction
    return np.where(fraction == 0, curve_y[index], between)  # a gap (NaN) on the right does not reach the left


def monotone_fit(x: Array, y: Array) -> tuple[Array, Array]:
    """The rising step function nearest to y in least squares (isotonic regression, Barlow et al. 1972): the place of
    each step and its level.

    A step that stands for several snapshots lies in the middle of them: at the mean of their log budgets. Budgets of 0
    lie at 0.
    """
    from scipy.optimize import isotonic_regression  # takes longer to import than all that `report --help` needs

    fit = isotonic_regression(y)
    starts, sizes = fit.blocks[:-1], np.diff(fit.blocks)
    with np.errstate(divide="ignore"):
        middles = np.exp(np.add.reduceat(np.log(x), starts) / sizes)
    return np.where(sizes == 1, x[starts], middles), fit.x[starts]


def mean_curve(seeds: list[Curve], logarithmic: bool = False) -> MeanCurve | None:
    """Mean and interval within the common range of the finished seeds, or of all when none is finished.

    Seeds recorded at the same places are averaged there; otherwise each is interpolated onto POINTS places spaced
    evenly in log budget. `logarithmic`: both are those of the logs, exponentiated, and NaN where a seed is not
    positive. None when the seeds share no range.
    """
    used = [curve for curve in seeds if curve.finished] or seeds
    if not used:
        return None
    start, end = max(curve.x[0] for curve in used), min(curve.x[-1] for curve in used)
    if start > end:
        return None
    within = [(curve.x >= start) & (curve.x <= end) for curve in used]
    recorded = [curve.x[inside] for curve, inside in zip(used, within, strict=True)]
    same = all(np.array_equal(recorded[0], places) for places in recorded)
    x = recorded[0] if same else _evenly_in_log(used, start, end)

    def read(seed: int, y: Array) -> Array:
        return y[within[seed]] if same else interpolate(used[seed].x, y, x)

    values = [_log(curve.y) if logarithmic else curve.y for curve in used]
    stacked = np.stack([read(i, y) for i, y in enumerate(values)])
    mean, n = stacked.mean(axis=0), len(used)
    errors = [curve.errors / np.where(curve.y > 0, curve.y, np.nan) if logarithmic else curve.errors for curve in used]
    between = np.stack([read(i, error) for i, error in enumerate(errors)])
    half = half_width(stacked, between) if n > 1 else None
    low, high = (None, None) if half is None else (mean - half, mean + half)
    if logarithmic:
        mean, low, high = np.exp(mean), *(None if end is None else np.exp(end) for end in (low, high))
    return MeanCurve(x, mean, low, high, n, not same)


def _evenly_in_log(curves: list[Curve], start: float, end: float) -> Array:
    first = start if start > 0 else min(curve.x[curve.x > 0].min(initial=end) for curve in curves)
    places = np.geomspace(first, end, POINTS) if first > 0 else np.asarray([end])
    return np.clip(places, start, end)


def _log(values: Array) -> Array:
    return np.log(np.where(values > 0, values, np.nan))
