"""What the shipped metrics declare of their quantities, for records that no metric has measured."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from experiments.records.quantities import MetricRecord, Quantity

CLASSES = {
    "validation": "ValidationLoss",
    "cloze": "Cloze",
    "probe": "LinearProbe",
    "word_swap": "WordSwap",
}
WORDS = {
    "majority_accuracy": "majority class",
    "bag_of_tokens_accuracy": "bag of tokens",
    "untrained_accuracy": "untrained encoder",
    "bayes_accuracy_token": "best guess from the token alone",
    "bayes_accuracy_past": "best guess from the past",
    "bayes_accuracy_both": "best guess from both sides",
}
NATS = "nats per target"


def declaration(name: str) -> Quantity:
    """How a quantity of a shipped metric is declared."""
    first, *middle, last = name.split("/")
    if last.endswith("standard_error"):
        return Quantity(name, f"standard error of {name.removesuffix('_standard_error')}", NATS)
    match first:
        case "train":
            return Quantity(name, "training loss", NATS, "lower", "question", figure="losses")
        case "validation":
            return _validation(name, last)
        case "cloze":
            return _cloze(name, float(middle[0]), last)
        case "probe":
            return _probe(name, middle[0], last)
        case "word_swap":
            return Quantity(name, "word-swap accuracy", "accuracy", "higher", "all", chance=0.5, best=1.0)
        case _:
            return Quantity(name, name, "positions")


def _validation(name: str, last: str) -> Quantity:
    match last:
        case "bayes_loss":
            return Quantity(name, "Bayes loss", NATS, level_of="validation/loss", bounds="all")
        case "excess_loss":
            return Quantity(
                name,
                "excess loss",
                NATS,
                "lower",
                "all",
                scale="log",
                best=0.0,
                standard_error=f"{name}_standard_error",
                description="The validation loss less the Bayes loss on the same questions.",
            )
        case "loss":
            return Quantity(name, "validation loss", NATS, "lower", "question", figure="losses")
        case _:
            raise ValueError(f"no declaration of {name}")


def _cloze(name: str, rate: float, last: str) -> Quantity:
    excess = {"scale": "log", "best": 0.0, "standard_error": f"{name}_standard_error"} if "excess" in last else {}
    kind = "excess loss" if excess else "loss"
    label, figure = f"validation {kind} at {100 * rate:g} % masked", f"{kind} at common mask rates"
    return Quantity(name, label, NATS, "lower", "all", headline=False, figure=figure, **excess)  # type: ignore[arg-type]


def _probe(name: str, task: str, last: str) -> Quantity:
    if last in ("accuracy", "macro_f1"):
        words = last.replace("_f1", " F1")
        return Quantity(name, f"{task} probe, {words}", words, "higher", "all", last == "accuracy", best=1.0)
    bounds: Any = {"bayes_accuracy_past": "causal", "bayes_accuracy_both": "all"}.get(last, "")
    return Quantity(name, WORDS[last], "accuracy", level_of=f"probe/{task}/accuracy", bounds=bounds)


def metric_records(names: Sequence[str], settings: dict[str, Any]) -> tuple[MetricRecord, ...]:
    """The metrics that measured these quantities; where there are no losses at mask rates, one that says why."""
    found = []
    for prefix, cls in CLASSES.items():
        measured = tuple(name for name in names if name.startswith(f"{prefix}/"))
        if measured:
            found.append(MetricRecord(f"experiments.evaluation.{cls}", settings, {}, measured))
    if not any(name.startswith("cloze/") for name in names):
        possible = tuple(f"cloze/{rate:g}/{kind}" for rate in (0.15, 0.3, 0.5) for kind in ("loss", "excess_loss"))
        why = "it fills in no [MASK]"
        found.append(MetricRecord("experiments.evaluation.Cloze", settings, {}, possible, not_measured=why))
    return tuple(found)
