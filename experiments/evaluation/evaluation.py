"""Metrics by class path, and the one way in which they are measured, in training and afterwards."""

from __future__ import annotations

import traceback
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from experiments.data import BlockData
from experiments.data.settings import measured_on
from experiments.evaluation.metric import NotMeasured, SharedMetric
from experiments.evaluation.standard_errors import Score
from experiments.records import metrics_file
from experiments.records.checkpoints import SNAPSHOTS, complete, number_of
from experiments.records.proof import declarations_or_none, values_digest, without_unproven
from experiments.records.quantities import Declarations, MetricRecord
from objectives import Objective
from objectives.construction.class_paths import import_object
from objectives.construction.identity import build_arguments

MOST_SNAPSHOTS = 10_000
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


class MetricFailed(ValueError):
    """A metric raised an error or broke its contract; the message names the metric, and where."""


@dataclass(frozen=True)
class EvaluationConfig:
    """When and by what a run is measured."""

    snapshots: int = 8
    """Number of evaluations, at log-spaced token counts up to the budget; the weights are kept at each."""
    first_tokens: int | None = None
    """Tokens at the first of them; a 64th of the budget when not given."""
    metrics: list[SharedMetric] = field(default_factory=list)
    """Class paths of shared metrics, with their settings; those of experiments.evaluation, without Likelihood, when not
    given."""

    def __post_init__(self) -> None:
        if not 1 <= self.snapshots <= MOST_SNAPSHOTS:
            raise ValueError(f"snapshots must be from 1 to {MOST_SNAPSHOTS:,}, but is {self.snapshots}")
        if self.first_tokens is not None and self.first_tokens < 1:
            raise ValueError(f"first_tokens must be at least 1, but is {self.first_tokens}")

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> EvaluationConfig:
        """Of plain values, as a configuration has them.

        Raises:
            ValueError: when a metric is not one, refuses its settings, or is named twice.
        """
        if plain["metrics"] is None:
            raise ValueError("evaluation.metrics must be a list of class paths, [] for none, but is null")
        for place, one in enumerate(plain["metrics"]):
            if one in plain["metrics"][:place]:
                raise ValueError(f"evaluation.metrics names {one['class_path']} twice with equal settings; remove one")
        return cls(**{**plain, "metrics": [build_metric(one) for one in plain["metrics"]]})


def build_metric(plain: Mapping[str, Any]) -> SharedMetric:
    """A metric of its class path and settings."""
    cls = import_object(plain["class_path"])
    if not (isinstance(cls, type) and issubclass(cls, SharedMetric)):
        raise ValueError(f"{plain['class_path']} is not a SharedMetric, so it cannot be one of evaluation.metrics")
    return cls(**build_arguments(cls, plain.get("init_args") or {}))


class Evaluation:
    """Some metrics on one data set; what they read of it is read once, here.

    Args:
        metrics: class path and settings of each, as plain values.
        measured_on: the settings of the data that decide what is measured on (`experiments.data.settings`).
        reserved: names of quantities that are not a metric's to record.

    Raises:
        ValueError: when a metric refuses its settings or the data, declares a reserved quantity, or two declare the
            same one.
    """

    def __init__(
        self,
        data: BlockData,
        metrics: Sequence[Mapping[str, Any]],
        measured_on: Mapping[str, Any] | None = None,
        reserved: Collection[str] = (),
    ) -> None:
        self.metrics = [build_metric(plain) for plain in metrics]
        self.quantities, self.records = [], []
        owners: dict[str, str] = {}
        for metric, plain in zip(self.metrics, metrics, strict=True):
            with _blamed_on(plain["class_path"]):
                metric.prepare(data)
                found = metric.quantities()
                declared = {quantity.name: quantity for quantity in found}
            if len(declared) < len(found):
                raise ValueError(f"{plain['class_path']} declares two quantities of one name; rename one of them")
            for name in declared:
                if name in reserved:
                    raise ValueError(
                        f"{plain['class_path']} declares the quantity {name}, which training records itself; give it "
                        f"another name"
                    )
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
            reason, parts = "", known.parts
            try:
                with _blamed_on(record.class_path):
                    scores = metric.measure(objective)
                    found = {name: float(value) for name, value in scores.items()}
                    parts = with_parts(known.parts, scores, tokens)
            except NotMeasured as why:
                found, reason = {}, str(why)
            if undeclared := sorted(found.keys() - quantities.keys()):
                raise MetricFailed(
                    f"{record.class_path} measures {', '.join(undeclared)} without declaring it; add it to its "
                    f"quantities()"
                )
            values |= found
            measured_at = dict(sorted({**known.measured_at, tokens: values_digest(tokens, found)}.items()))
            now = replace(record, measured_at=measured_at, not_measured=reason, parts=parts)
            rest = _without_rivals(declared, record)
            declared = Declarations({**rest.quantities, **quantities}, (*rest.metrics, now))
        return values, self._in_order(declared)

    def _in_order(self, declared: Declarations) -> Declarations:
        """What these metrics declare last, in their order, whenever each was measured."""
        ours = [one for record in self.records for one in declared.metrics if one.identity == record.identity]
        names = [name for one in ours for name in one.quantities]
        rest = {name: quantity for name, quantity in declared.quantities.items() if name not in names}
        others = [one for one in declared.metrics if one not in ours]
        return Declarations({**rest, **{name: declared.quantities[name] for name in names}}, (*others, *ours))


@contextmanager
def _blamed_on(class_path: str) -> Iterator[None]:
    """Name the metric in what its own code raises."""
    try:
        yield
    except NotMeasured:
        raise
    except Exception as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        raise MetricFailed(
            f"the metric {class_path} raised {type(error).__name__}: {error} ({last.filename}, line {last.lineno}); "
            f"correct it, or leave it out of evaluation.metrics"
        ) from error


def metric_record(
    plain: Mapping[str, Any], measured_on: Mapping[str, Any], quantities: tuple[str, ...] = ()
) -> MetricRecord:
    """What a metric of a configuration is called in the records, before it has been measured."""
    unrecorded = import_object(plain["class_path"]).unrecorded
    given = plain.get("init_args") or {}
    settings = {name: value for name, value in given.items() if (name, value) not in unrecorded.items()}
    return MetricRecord(plain["class_path"], settings, dict(measured_on), quantities)


def with_parts(
    known: Mapping[str, Mapping[str, list[float]]], scores: Mapping[str, float], tokens: int
) -> dict[str, dict[str, list[float]]]:
    """The parts recorded so far, with those of scores measured at a snapshot."""
    found = {name: dict(by_tokens) for name, by_tokens in known.items()}
    for name, score in scores.items():
        if isinstance(score, Score) and score.parts:
            found.setdefault(name, {})[str(tokens)] = list(score.parts)
    return found


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


def unmeasured(run: Path, config: Mapping[str, Any]) -> list[Path]:
    """The finished snapshots of a run at which some metric of a configuration has not been measured yet."""
    metrics, data = config["evaluation"]["metrics"], measured_on(config["data"])
    known = without_unproven(metrics_file.readable_rows(run)[0], declarations_or_none(run)).metrics
    snapshots = complete(run / SNAPSHOTS)
    lacking: set[Path] = set()
    for plain in metrics:
        wanted = metric_record(plain, data)
        record = next((one for one in known if one.identity == wanted.identity), wanted)
        constant = import_object(plain["class_path"]).constant
        missing = [path for path in snapshots if not is_measured(record, constant, number_of(path))]
        lacking.update(missing[:1] if constant else missing)
    return sorted(lacking)
