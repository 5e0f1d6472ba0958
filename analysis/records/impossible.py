"""A loss clearly below the Bayes loss is a mistake in the computation: no report is made of it."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from analysis.records.quantities import is_excess_loss
from analysis.records.run_records import RunRecords

IMPOSSIBLE = 3
"""A loss this many standard errors below the Bayes loss is a mistake in the computation of one of the two."""


def refuse_impossible(runs: Iterable[RunRecords]) -> None:
    """Raises ValueError when a recorded excess loss is more than IMPOSSIBLE standard errors below 0, or below 0 with
    no standard error recorded at its step.
    """
    for run in runs:
        for quantity in filter(is_excess_loss, run.series):
            _refuse_impossible(run, quantity)


def _refuse_impossible(run: RunRecords, quantity: str) -> None:
    series, errors = run.series[quantity], run.series.get(f"{quantity}_standard_error")
    known = {} if errors is None else dict(zip(errors.steps.tolist(), errors.values.tolist(), strict=True))
    for i in np.flatnonzero(series.values < 0):
        step, value = int(series.steps[i]), float(series.values[i])
        error = known.get(step)
        if error is not None and value >= -IMPOSSIBLE * error:
            continue
        by = "its standard error was not recorded" if error is None else f"its standard error is {error:.3g}"
        raise ValueError(
            f"{quantity} of {run.name} at step {step} is {value:.3g} nats, below the Bayes loss, and {by}: either the "
            f"loss or the Bayes loss was computed wrongly, so no report is made of {run.directory}"
        )
