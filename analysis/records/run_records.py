"""A run's records as typed arrays over the four cumulative axes, and the arms that runs form."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.records import metrics_file, run_directory
from experiments.records.quantities import Declarations, MetricRecord, Quantity

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Missing:
    """What stands where a number should be; shown as `missing (reason)`, never as a blank."""

    reason: str

    def __str__(self) -> str:
        return f"missing ({self.reason})"


@dataclass(frozen=True)
class Series:
    """One quantity of one run, by step, without its values that are not finite; `dropped` counts those."""

    steps: NDArray[np.int64]
    tokens: Array
    targets: Array
    flops: Array
    seconds: Array
    values: Array
    dropped: int
    ends_finite: bool
    """Whether the last value recorded is among `values`."""

    def along(self, axis: str) -> Array:
        """Where each value was recorded on the cumulative axis tokens, targets, flops or seconds."""
        return getattr(self, axis)

    @classmethod
    def from_rows(cls, rows: Iterable[metrics_file.Row]) -> Series:
        """Of several rows at one step the last counts."""
        by_step = {row.step: row for row in rows}
        ordered = [by_step[step] for step in sorted(by_step)]
        kept = [row for row in ordered if np.isfinite(row.value)]
        columns = [[getattr(row, a) for row in kept] for a in (*metrics_file.AXES, "value")]
        tokens, targets, flops, seconds, values = (np.asarray(c, dtype=np.float64) for c in columns)
        steps = np.asarray([row.step for row in kept], dtype=np.int64)
        ends_finite = bool(kept) and kept[-1] is ordered[-1]
        return cls(steps, tokens, targets, flops, seconds, values, len(ordered) - len(kept), ends_finite)


@dataclass(frozen=True)
class Traits:
    """What an objective says of itself."""

    question: str = ""
    """What its own loss asks: arms with equal ones can be compared by it."""
    numeric: Mapping[str, float] = field(default_factory=dict)
    categorical: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class RunRecords:
    """One planned run, with whatever it has recorded so far."""

    name: str
    arm: str
    seed: int
    objective: str
    attention: str
    """Who sees whom: "causal" or "bidirectional"."""
    factors: dict[str, str]
    """The levels of the grid's axes, by axis."""
    traits: Traits
    budget_tokens: int
    nominal_density: float | None
    title: str
    corpus: str | None
    """What it was trained on; None before it has begun."""
    directory: Path
    state: run_directory.RunState
    series: dict[str, Series]
    """By the name of the quantity."""
    declared: Declarations
    pairing: dict[str, Any] | None
    stream: dict[int, str]
    """Rolling hash of the text consumed, by step."""
    last_row: metrics_file.Row | None
    """The last row recorded, of any quantity."""
    end_tokens: int
    """Tokens read at the end of a finished run."""

    @property
    def finished(self) -> bool:
        return self.state.state == "done"

    @property
    def progress(self) -> str:
        """Why there is no final score, in words; "done" when there is."""
        if self.state.state in ("done", "pending"):
            return self.state.state
        if self.state.state == "damaged":
            return f"damaged ({self.state.error})"
        if not self.budget_tokens:
            return f"{self.state.state} at {self.state.tokens:,} tokens"
        read = min(self.state.tokens, self.budget_tokens)  # the last step is a whole one, and may pass the budget
        return f"{self.state.state} at {read:,} of {self.budget_tokens:,} tokens"

    @property
    def log(self) -> str:
        """Where the run's log lies."""
        return self.state.log or str(self.directory / run_directory.LOG)

    def metric(self, quantity: Quantity) -> MetricRecord | None:
        """The metric that measures a quantity, with its settings; None for what training records itself."""
        return next((metric for metric in self.declared.metrics if quantity.name in metric.quantities), None)

    def final_score(self, quantity: Quantity) -> float | Missing:
        """The value at the end of a finished run's budget; a level that training does not change is measured once. An
        unfinished run has none: budgets would differ."""
        series, metric = self.series.get(quantity.name), self.metric(quantity)
        if series is None and metric is not None and metric.not_measured:
            return Missing(f"{self.name}: {metric.not_measured}")
        if not self.finished:
            return Missing(f"{self.name}: {self.progress}")
        if series is None and metric is not None and metric.measured_at:
            return Missing(f"{self.name}: not known for its objective and settings")
        if series is None:
            return Missing(f"{self.name} recorded no {quantity.label}")
        if not series.ends_finite:
            return Missing(f"the last {quantity.label} of {self.name} is not finite")
        if not quantity.level_of and series.tokens[-1] != self.end_tokens:
            return Missing(
                f"the last {quantity.label} of {self.name} is from token {int(series.tokens[-1]):,}, not from the end "
                f"at {self.end_tokens:,}"
            )
        return float(series.values[-1])


def finished_of_planned(runs: Sequence[RunRecords]) -> str:
    """How many runs are finished, as `2 of 3`."""
    return f"{sum(run.finished for run in runs)} of {len(runs)}"


@dataclass(frozen=True, eq=False)
class Arm:
    """The runs that differ only by seed; equal to itself alone, so that it can be a key."""

    name: str
    runs: tuple[RunRecords, ...]

    @property
    def objective(self) -> str:
        return self.runs[0].objective

    @property
    def is_causal(self) -> bool:
        return self.runs[0].attention == "causal"

    @property
    def traits(self) -> Traits:
        return self.runs[0].traits

    @property
    def density(self) -> float | None:
        """Targets per token read, as planned; None where no run has begun."""
        return next((run.nominal_density for run in self.runs if run.nominal_density is not None), None)

    @property
    def factors(self) -> dict[str, str]:
        return self.runs[0].factors

    def run(self, seed: int) -> RunRecords | None:
        return next((run for run in self.runs if run.seed == seed), None)

    def recorded(self, quantity: Quantity) -> bool:
        """Whether any of its runs has recorded a quantity."""
        return any(quantity.name in run.series for run in self.runs)

    def final_scores(self, quantity: Quantity) -> dict[int, float]:
        """Final score by seed, finished runs only."""
        scores = {run.seed: run.final_score(quantity) for run in self.runs}
        return {seed: score for seed, score in scores.items() if not isinstance(score, Missing)}

    def why_missing(self, quantity: Quantity) -> Missing:
        """The reason of the first run that has no final score."""
        reasons = (run.final_score(quantity) for run in self.runs)
        return next((r for r in reasons if isinstance(r, Missing)), Missing("no run planned"))
