"""Curves over seeds: reading a curve between two snapshots, and the mean of several with its t-interval."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from analysis.records.run_records import Arm, Array
from analysis.statistics.intervals import half_width

POINTS = 60


@dataclass(frozen=True)
class Line:
    """One quantity of one run along one axis."""

    seed: int
    x: Array
    y: Array
    finished: bool


@dataclass(frozen=True)
class Band:
    """Mean over n seeds with its interval; `interpolated` when the seeds were not recorded at the same
    places.
    """

    x: Array
    mean: Array
    low: Array | None
    high: Array | None
    n: int
    interpolated: bool


def lines(arm: Arm, quantity: str, axis: str) -> list[Line]:
    """Every seed's curve; a run that has no finite value of the quantity has none."""
    found = []
    for cell in arm.cells:
        series = cell.series.get(quantity)
        if series is not None and series.values.size:
            found.append(Line(cell.seed, series.along(axis), series.values, cell.finished))
    return found


def between(left: float, right: float, fraction: float) -> float:
    """The budget a fraction of the way from one to the next: on the log scale, or linearly from a budget of
    0.
    """
    if left <= 0:
        return left + fraction * (right - left)
    return float(left * (right / left) ** fraction)


def at(line_x: Array, line_y: Array, x: Array) -> Array:
    """Values at budgets x within the curve's range, linear in log budget (in budget, within a segment from
    0).
    """
    index = np.clip(np.searchsorted(line_x, x, side="right") - 1, 0, max(line_x.size - 2, 0))
    if line_x.size == 1:
        return np.full(x.shape, line_y[0])
    left, right = line_x[index], line_x[index + 1]
    positive = left > 0
    safe = np.where(positive, left, 1.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        logarithmic = np.log(np.maximum(x, 1e-300) / safe) / np.log(np.where(positive, right / safe, 2.0))
        linear = (x - left) / (right - left)
    fraction = np.clip(np.nan_to_num(np.where(positive, logarithmic, linear), nan=1.0), 0.0, 1.0)
    between_both = line_y[index] * (1 - fraction) + line_y[index + 1] * fraction
    return np.where(fraction == 0, line_y[index], between_both)  # a gap (NaN) on the right does not reach the left


def band(seeds: list[Line], logarithmic: bool = False) -> Band | None:
    """Mean and t-interval within the common range of the finished seeds, or of all when none is finished.

    Seeds recorded at the same places are averaged there; otherwise each is interpolated (see `at`) onto
    POINTS places spaced evenly in log budget. `logarithmic`: both are those of the logs, exponentiated, and NaN where
    a seed is not positive. None when the seeds share no range.
    """
    used = [line for line in seeds if line.finished] or seeds
    if not used:
        return None
    start, end = max(line.x[0] for line in used), min(line.x[-1] for line in used)
    if start > end:
        return None
    grids = [line.x[(line.x >= start) & (line.x <= end)] for line in used]
    same = all(np.array_equal(grids[0], grid) for grid in grids)
    if same:
        x = grids[0]
    else:
        first = start if start > 0 else min(line.x[line.x > 0].min(initial=end) for line in used)
        x = np.geomspace(first, end, POINTS) if first > 0 else np.asarray([end])
        x = np.clip(x, start, end)
    values = [_log(line.y) if logarithmic else line.y for line in used]
    stacked = np.stack([at(line.x, y, x) for line, y in zip(used, values, strict=True)])
    mean, n = stacked.mean(axis=0), len(used)
    half = half_width(stacked) if n > 1 else None
    low, high = (None, None) if half is None else (mean - half, mean + half)
    if logarithmic:
        mean, low, high = np.exp(mean), *(None if end is None else np.exp(end) for end in (low, high))
    return Band(x, mean, low, high, n, not same)


def _log(values: Array) -> Array:
    return np.log(np.where(values > 0, values, np.nan))
