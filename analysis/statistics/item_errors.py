"""Scores with their standard errors over the items that they were measured on, as their metrics declared and recorded
them."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

import numpy as np

from analysis.records.run_records import Arm, Array, RunRecords
from analysis.statistics.intervals import Measured
from experiments.records.quantities import Quantity

CACHED = 100_000
"""Answers kept of what tables and figures ask again and again, more than a grid of 400 runs has."""


def item_errors(run: RunRecords, quantity: Quantity) -> Array:
    """The standard error at each place at which a run recorded a quantity; 0 where none is recorded."""
    found = _recorded_errors(run, quantity)
    return np.where(np.isnan(found), 0.0, found)


@lru_cache(maxsize=CACHED)
def final_scores(arm: Arm, quantity: Quantity) -> dict[int, Measured]:
    """Final score by seed with its standard error and parts, finished runs only."""
    runs = {run.seed: run for run in arm.runs}
    return {seed: last_measured(runs[seed], quantity) for seed in arm.final_scores(quantity)}


def last_measured(run: RunRecords, quantity: Quantity) -> Measured:
    """The last value of a quantity that a run has recorded, with its standard error and parts."""
    series, metric = run.series[quantity.name], run.metric(quantity)
    parts = {} if metric is None else metric.parts.get(quantity.name, {})
    at = str(int(series.tokens[-1]))
    return Measured(float(series.values[-1]), float(item_errors(run, quantity)[-1]), tuple(parts.get(at, ())))


def lacks_item_errors(arms: Iterable[Arm], quantity: Quantity) -> bool:
    """Whether a final score has no standard error in some run: what is made of it covers the seeds alone."""
    scored = [run for arm in arms for seed in arm.final_scores(quantity) if (run := arm.run(seed)) is not None]
    return any(np.isnan(_recorded_errors(run, quantity)[-1]) for run in scored)


def lacks_parts(arms: Iterable[Arm], quantity: Quantity) -> bool:
    """Whether a final score has no parts in some run: the luck that it shares with others does not cancel there."""
    return any(not one.parts for arm in arms for one in final_scores(arm, quantity).values())


def _recorded_errors(run: RunRecords, quantity: Quantity) -> Array:
    """The standard error at each place of a quantity; nan where there is none."""
    declared = run.declared.quantities.get(quantity.name, quantity)
    series, errors = run.series[quantity.name], run.series.get(declared.standard_error)
    if errors is None:
        return np.full(series.steps.size, np.nan)
    if np.array_equal(errors.steps, series.steps):
        return errors.values
    known = dict(zip(errors.steps.tolist(), errors.values.tolist(), strict=True))
    return np.asarray([known.get(step, np.nan) for step in series.steps.tolist()], dtype=np.float64)
