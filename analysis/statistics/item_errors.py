"""Scores with their standard errors over the items that they were measured on, as their metrics declared and recorded
them."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from analysis.records.run_records import Arm, Array, RunRecords
from analysis.statistics.intervals import Measured
from experiments.records.quantities import Quantity


def item_errors(run: RunRecords, quantity: Quantity) -> Array:
    """The standard error at each place at which a run recorded a quantity; 0 where none is recorded."""
    return np.nan_to_num(_recorded_errors(run, quantity, quantity))


def margin_errors(run: RunRecords, level: Quantity) -> Array | None:
    """The standard error of a score less a level, item by item, at each place of the level; None where not recorded."""
    declared = run.declared.quantities.get(level.name, level)
    margin = run.declared.quantities.get(declared.margin)
    errors = None if margin is None else _recorded_errors(run, level, margin)
    return None if errors is None or np.isnan(errors).any() else errors


def final_scores(arm: Arm, quantity: Quantity) -> dict[int, Measured]:
    """Final score by seed with its standard error, finished runs only."""
    runs = {run.seed: run for run in arm.runs}
    return {
        seed: Measured(score, float(item_errors(runs[seed], quantity)[-1]))
        for seed, score in arm.final_scores(quantity).items()
    }


def lacks_item_errors(arms: Iterable[Arm], quantity: Quantity) -> bool:
    """Whether a final score has no standard error in some run: what is made of it covers the seeds alone."""
    scored = [run for arm in arms for seed in arm.final_scores(quantity) if (run := arm.run(seed)) is not None]
    return any(np.isnan(_recorded_errors(run, quantity, quantity)[-1]) for run in scored)


def _recorded_errors(run: RunRecords, at: Quantity, quantity: Quantity) -> Array:
    """The standard errors of one quantity where another was recorded; nan where there is none."""
    declared = run.declared.quantities.get(quantity.name, quantity)
    errors = run.series.get(declared.standard_error)
    known = {} if errors is None else dict(zip(errors.steps.tolist(), errors.values.tolist(), strict=True))
    return np.asarray([known.get(step, np.nan) for step in run.series[at.name].steps.tolist()], dtype=np.float64)
