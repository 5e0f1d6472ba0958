"""Excess: nats per target above the best possible loss on the very same questions. Recorded where the language's
rules are known; the one loss that may be compared across objectives and mask rates.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from analysis.records.run_records import Cell

IMPOSSIBLE = 3
"""A loss so many standard errors below the best possible one is an error in somebody's arithmetic."""


def refuse_impossible(cells: Iterable[Cell]) -> None:
    """Raises ValueError when a recorded excess is more than IMPOSSIBLE standard errors below 0, or below 0 with no
    standard error recorded at its step.
    """
    for cell in cells:
        for quantity, series in cell.series.items():
            if not quantity.endswith("/excess_loss"):
                continue
            errors = cell.series.get(f"{quantity}_standard_error")
            known = {} if errors is None else dict(zip(errors.steps.tolist(), errors.values.tolist(), strict=True))
            for i in np.flatnonzero(series.values < 0):
                step, value = int(series.steps[i]), float(series.values[i])
                error = known.get(step)
                if error is not None and value >= -IMPOSSIBLE * error:
                    continue
                by = "its standard error was not recorded" if error is None else f"its standard error is {error:.3g}"
                raise ValueError(
                    f"{quantity} of {cell.name} at step {step} is {value:.3g} nats, below the best possible loss, and "
                    f"{by}: either the floor or the loss was computed wrongly, so no report is made of {cell.directory}"
                )
