"""Metrics by class path, and the one way in which they are measured, in training and afterwards."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from experiments.data import BlockData
from experiments.evaluation.metric import NotMeasured, SharedMetric
from experiments.records.quantities import Declarations, MetricRecord
from objectives import Objective
from objectives.identity import import_object

DEFAULT_METRICS = [
    {"class_path": f"experiments.evaluation.{name}"}
    for name in (
        "ValidationLoss",
        "Cloze",
        "LinearProbe",
        "MajorityClass",
        "BagOfTokens",
        "UntrainedEncoder",
        "BayesAccuracy",
        "WordSwap",
    )
]


@dataclass(frozen=True)
class EvaluationConfig:
    """When and by what a run is measured."""

    snapshots: int = 8
    """Number of evaluations, at log-spaced token counts up to the budget; the weights are kept at each."""
    first_tokens: int | None = None
    """Tokens at the first of them; a 64th of the budget when not given."""
    metrics: list[SharedMetric] = field(default_factory=list)
    """Class paths of shared metrics, with their settings; all those of experiments.evaluation when not given."""

    def __post_init__(self) -> None:
        if self.snapshots < 1:
            raise ValueError(f"snapshots must be at least 1, but is {self.snapshots}")

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> EvaluationConfig:
        """Of plain values, as a configuration has them.

        Raises:
            ValueError: when a metric is not one, or refuses its settings.
        """
        return cls(**{**plain, "metrics": [build_metric(one) for one in plain["metrics"]]})


def build_metric(plain: Mapping[str, Any]) -> SharedMetric:
    """A metric of its class path and settings."""
    cls = import_object(plain["class_path"])
    if not (isinstance(cls, type) and issubclass(cls, SharedMetric)):
        raise ValueError(f"{plain['class_path']} is not a SharedMetric, so it cannot be one of evaluation.metrics")
    return cls(**(plain.get("init_args") or {}))


class Evaluation:
    """Some metrics on one data set; what they read of it is read once, here.

    Args:
        metrics: class path and settings of each, as plain values.
        measured_on: the settings of the data that decide what is measured on (`experiments.data.settings`).

    Raises:
        ValueError: when a metric refuses its settings or the data, or two declare the same quantity.
    """

    def __init__(
        self, data: BlockData, metrics: Sequence[Mapping[str, Any]], measured_on: Mapping[str, Any] | None = None
    ) -> None:
        self.metrics = [build_metric(plain) for plain in metrics]
        self.quantities, self.records = [], []
        owners: dict[str, str] = {}
        for metric, plain in zip(self.metrics, metrics, strict=True):
            metric.prepare(data)
            declared = {quantity.name: quantity for quantity in metric.quantities()}
            for name in declared:
                if name in owners:
                    raise ValueError(
                        f"{owners[name]} and {plain['class_path']} both declare the quantity {name}; leave one of them "
                        f"out of evaluation.metrics"
                    )
                owners[name] = plain["class_path"]
            self.quantities.append(declared)
            self.records.append(metric_record(plain, measured_on or {}, tuple(declared)))

    def without_superseded(self, declared: Declarations) -> Declarations:
        """The declarations without what these metrics record under the same names, but measure in another way."""
        for record in self.records:
            if all(one.identity != record.identity for one in declared.metrics):
                declared = _without_rivals(declared, record)
        return declared

    def measure(
        self, objective: Objective, declared: Declarations, tokens: int
    ) -> tuple[dict[str, float], Declarations]:
        """Measure what `declared` does not have at a snapshot: quantity -> value, and the declarations with it.

        What was measured in another way under the same names leaves the declarations.

        Args:
            tokens: read by the objective so far; the snapshot is known by it.
        """
        values: dict[str, float] = {}
        for metric, quantities, record in zip(self.metrics, self.quantities, self.records, strict=True):
            known = next((one for one in declared.metrics if one.identity == record.identity), record)
            if is_measured(known, metric.constant, tokens):
                continue
            reason = ""
            try:
                found = metric.measure(objective)
            except NotMeasured as why:
                found, reason = {}, str(why)
            if undeclared := sorted(found.keys() - quantities.keys()):
                raise ValueError(f"{record.class_path} measures {', '.join(undeclared)} without declaring it")
            values |= {name: float(value) for name, value in found.items()}
            measured_at = tuple(sorted({*known.measured_at, tokens}))
            now = replace(record, measured_at=measured_at, not_measured=reason)
            rest = _without_rivals(declared, record)
            declared = Declarations({**rest.quantities, **quantities}, (*rest.metrics, now))
        return values, declared


def metric_record(
    plain: Mapping[str, Any], measured_on: Mapping[str, Any], quantities: tuple[str, ...] = ()
) -> MetricRecord:
    """What a metric of a configuration is called in the records, before it has been measured."""
    return MetricRecord(plain["class_path"], dict(plain.get("init_args") or {}), dict(measured_on), quantities)


def is_measured(record: MetricRecord, constant: bool, tokens: int) -> bool:
    """Whether a metric has been measured at a snapshot; a constant one is measured once."""
    return tokens in record.measured_at or (constant and bool(record.measured_at))


def _without_rivals(declared: Declarations, record: MetricRecord) -> Declarations:
    """The declarations without a metric, and without those that record the same quantities."""
    kept = [
        one
        for one in declared.metrics
        if one.identity != record.identity and not set(one.quantities) & set(record.quantities)
    ]
    gone = {name for one in declared.metrics if one not in kept for name in one.quantities}
    quantities = {name: quantity for name, quantity in declared.quantities.items() if name not in gone}
    return Declarations(quantities, tuple(kept))
