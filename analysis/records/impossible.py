"""A score clearly better than what no model can pass is a mistake in the computation: no report is made of it."""

from __future__ import annotations

from collections.abc import Iterable

from analysis.records.run_records import RunRecords
from experiments.records.quantities import Quantity

IMPOSSIBLE = 3
"""A score this many standard errors beyond the best possible one is a mistake in the computation of one of the two."""


def refuse_impossible(runs: Iterable[RunRecords]) -> None:
    """Raises ValueError when a recorded value of a quantity that declares its standard error and a best possible value
    is more than IMPOSSIBLE standard errors beyond that, or beyond it with no standard error recorded at its step.
    """
    for run in runs:
        for name in run.series:
            quantity = run.declared.quantities.get(name)
            if quantity is not None and quantity.best is not None and quantity.standard_error:
                _refuse_impossible(run, quantity, quantity.best)


def _refuse_impossible(run: RunRecords, quantity: Quantity, best: float) -> None:
    series, errors = run.series[quantity.name], run.series.get(quantity.standard_error)
    known = {} if errors is None else dict(zip(errors.steps.tolist(), errors.values.tolist(), strict=True))
    for step, value in zip(series.steps.tolist(), series.values.tolist(), strict=True):
        beyond = best - value if quantity.better == "lower" else value - best
        error = known.get(step)
        if beyond <= 0 or (error is not None and beyond <= IMPOSSIBLE * error):
            continue
        by = "its standard error was not recorded" if error is None else f"its standard error is {error:.3g}"
        raise ValueError(
            f"{quantity.name} of {run.name} at step {step} is {value:.3g} {quantity.unit}, better than {best:g}, which "
            f"no model can pass, and {by}: either the score or the limit was computed wrongly, so no report is made of "
            f"{run.directory}"
        )
