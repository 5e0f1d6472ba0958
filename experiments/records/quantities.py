"""quantities.json: what each recorded quantity is, and which metrics have been measured at which snapshots.

A report shows and compares quantities by what is declared here, and by nothing else.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from experiments.records import durable

QUANTITIES = "quantities.json"
SEAL = 32
"""Digits of the digest that the file holds of itself."""


@dataclass(frozen=True)
class Quantity:
    """One recorded quantity, declared by the metric that measures it.

    Raises:
        ValueError: when better, comparable, scale or bounds has another value than those below, a score does not say
            which way is better, chance or best is not finite, or the name cannot stand in metrics.csv and in a
            report's file names.
    """

    name: str
    """Its name in metrics.csv, such as "probe/books/accuracy"."""
    label: str
    """Its name in words, without the unit: "books probe, accuracy"."""
    unit: str
    """What it is counted in: "nats per target", "accuracy"."""
    better: Literal["higher", "lower", ""] = ""
    """Which way is better; nothing for what is no score, such as counts, levels and standard errors."""
    comparable: Literal["all", "question", ""] = ""
    """With which arms on the same data a value can be compared: with all, with those whose own loss asks the same
    question, or with none."""
    headline: bool = True
    """Whether the summary and the overview speak of it, if it can be compared with all."""
    scale: Literal["linear", "log"] = "linear"
    """log: drawn, averaged and interpolated in its logarithm."""
    chance: float | None = None
    """What a model scores that knows nothing."""
    best: float | None = None
    """What no model can pass."""
    standard_error: str = ""
    """Name of the quantity that holds its standard error over the items it was measured on."""
    level_of: str = ""
    """Name of the score that this is a level of: a baseline, or a bound."""
    bounds: Literal["causal", "all", ""] = ""
    """Whose scores the level bounds: those of causal models, or all. Nothing for a baseline."""
    figure: str = ""
    """Quantities of one figure are its panels; each has a figure of its own when not given."""
    description: str = ""
    """Whole sentences for the reader of a report: what it measures, and what to keep in mind."""

    def __post_init__(self) -> None:
        if not 0 < len(self.name) <= 120 or not self.name.isprintable() or set(self.name) & {",", '"'}:
            raise ValueError(
                f"a quantity's name is one line of at most 120 letters without commas and quotation marks, but is "
                f"{self.name!r}"
            )
        for setting in ("chance", "best"):
            if (level := getattr(self, setting)) is not None and not math.isfinite(level):
                raise ValueError(f"{setting} of quantity {self.name} must be a finite number or None, but is {level}")
        choices = {
            "better": ("higher", "lower", ""),
            "comparable": ("all", "question", ""),
            "scale": ("linear", "log"),
            "bounds": ("causal", "all", ""),
        }
        for setting, allowed in choices.items():
            if (value := getattr(self, setting)) not in allowed:
                raise ValueError(f"{setting} of quantity {self.name} is one of {allowed}, but is {value!r}")
        if self.comparable and not self.better:
            raise ValueError(f'quantity {self.name} is comparable; say which way is better, "higher" or "lower"')


@dataclass(frozen=True)
class MetricRecord:
    """One metric with its settings, and where it has been measured in a run."""

    class_path: str
    init_args: dict[str, Any]
    data: dict[str, Any]
    """The settings of the data that decide what it is measured on, not what is trained on."""
    quantities: tuple[str, ...]
    """Names of what it may record."""
    measured_at: Mapping[int, str] = field(default_factory=dict)
    """Tokens read at each snapshot at which it has been measured -> digest of what it measured there."""
    not_measured: str = ""
    """Why it measures nothing of this objective, if so."""
    parts: dict[str, dict[str, list[float]]] = field(default_factory=dict)
    """By quantity and tokens read: what each of some parts of the items adds to the luck of the score. The sum is 0;
    that of the squares, times n / (n − 1) for n parts, estimates the variance over items. What two scores share of it
    cancels in their difference."""

    @property
    def identity(self) -> tuple[str, Any, Any]:
        """Equal for two records that measure the same thing in the same way."""
        return self.class_path, self.init_args, self.data


@dataclass(frozen=True)
class Declarations:
    """All that quantities.json says."""

    quantities: dict[str, Quantity] = field(default_factory=dict)
    metrics: tuple[MetricRecord, ...] = ()


OWN_LOSS = "Of the batches since the last record, on the question of the arm's own objective."
TRAINING = {
    quantity.name: quantity
    for quantity in (
        Quantity(
            "train/loss",
            "training loss",
            "nats per target",
            "lower",
            "question",
            figure="losses",
            description=OWN_LOSS,
        ),
        Quantity("train/learning_rate", "learning rate", "per step"),
        Quantity("ledger/selected", "positions selected for corruption", "positions"),
        Quantity("ledger/corrupted", "positions shown changed", "positions"),
        Quantity("ledger/kept", "positions selected and shown as they are", "positions"),
        Quantity("ledger/targets", "supervised tokens", "positions"),
        Quantity("ledger/density", "targets per token read", "share"),
    )
}
"""What every run records of its training."""


def write_declarations(run: Path, declared: Declarations) -> None:
    """Replace a run's quantities.json."""
    quantities, metrics = declared.quantities.values(), declared.metrics
    content = {"quantities": [*map(asdict, quantities)], "metrics": [*map(asdict, metrics)]}
    # As it will be read: JSON has no whole numbers for keys.
    content = json.loads(json.dumps(content))
    durable.write_json(Path(run) / QUANTITIES, {**content, "seal": durable.content_hash(content, SEAL)})


def read_declarations(run: Path) -> Declarations:
    """What a run's quantities.json says; nothing where there is none yet.

    Raises:
        ValueError: when it is damaged.
    """
    path = Path(run) / QUANTITIES
    if not path.exists():
        return Declarations()
    try:
        content = durable.read_mapping(path)
        if content.pop("seal", None) != durable.content_hash(content, SEAL):
            raise ValueError("it was altered")
        quantities = [Quantity(**one) for one in content["quantities"]]
        metrics = [
            MetricRecord(
                **{
                    **one,
                    "quantities": tuple(one["quantities"]),
                    "measured_at": {int(tokens): digest for tokens, digest in one["measured_at"].items()},
                }
            )
            for one in content["metrics"]
        ]
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ValueError(
            f"{path} is damaged ({error}); `clm-vs-mlm evaluate {run}` measures again and writes it anew"
        ) from error
    return Declarations({quantity.name: quantity for quantity in quantities}, tuple(metrics))
