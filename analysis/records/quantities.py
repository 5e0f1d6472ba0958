"""The recorded quantities and axes: what they are called in words, which way is better, what may be compared."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

TRAIN_LOSS, VALIDATION_LOSS = "train/loss", "validation/loss"
BAYES_LOSS, EXCESS_LOSS = "validation/bayes_loss", "validation/excess_loss"
WORD_SWAP = "word_swap/accuracy"
WORD_SWAP_CHANCE = 0.5
IMBALANCED = 0.8
"""From this share of the majority class on, accuracy says little and macro F1 is a probe's main metric."""


@dataclass(frozen=True)
class Axis:
    """A cumulative budget that a curve can be drawn against; label is its name with the unit."""

    name: str
    label: str


AXES = {
    axis.name: axis
    for axis in (
        Axis("tokens", "tokens read"),
        Axis("targets", "supervised tokens"),
        Axis("flops", "training FLOPs"),
        Axis("seconds", "training time (s)"),
    )
}

_PROBE = re.compile(r"probe/([^/]+)/(accuracy|macro_f1|majority_accuracy)")
_OWN_QUESTION = re.compile(r"(train|validation)/(loss|accuracy|bits_per_character)")
_CLOZE = re.compile(r"cloze/([0-9.]+)/(loss|excess_loss)")
_LOWER_IS_BETTER = ("loss", "bayes_loss", "excess_loss", "bits_per_character")
_IN_WORDS = {
    "accuracy": "accuracy",
    "macro_f1": "macro F1",
    "majority_accuracy": "majority-class accuracy",
    "loss": "loss",
    "excess_loss": "excess loss",
    "bits_per_character": "bits per character",
}


def is_shared_metric(quantity: str) -> bool:
    """True for what is measured in the same way for every objective: excess loss, linear probes, word swap."""
    return quantity in (EXCESS_LOSS, WORD_SWAP) or is_probe_score(quantity)


def shared_metrics(quantities: Iterable[str]) -> list[str]:
    """The shared metrics among some quantities: excess loss, probes by name, word swap."""
    return sorted(filter(is_shared_metric, set(quantities)), key=lambda q: (q != EXCESS_LOSS, q))


def is_probe_score(quantity: str) -> bool:
    """True for the accuracy and the macro F1 of a linear probe."""
    match = _PROBE.fullmatch(quantity)
    return match is not None and match[2] != "majority_accuracy"


def probe_task(quantity: str) -> str:
    """The task of a quantity `probe/<task>/...`."""
    return quantity.split("/")[1]


def probe_quantity(task: str, kind: str) -> str:
    """`probe/<task>/<kind>`, such as the constants majority_accuracy and bayes_accuracy_past."""
    return f"probe/{task}/{kind}"


def is_own_question(quantity: str) -> bool:
    """True for what an arm scores on the question of its own objective; objectives cannot be compared by it."""
    return _OWN_QUESTION.fullmatch(quantity) is not None


def common_mask_rate(quantity: str) -> float | None:
    """The rate of a loss at one of the mask rates common to all arms: `cloze/0.3/loss` -> 0.3."""
    match = _CLOZE.fullmatch(quantity)
    return float(match[1]) if match else None


def cloze_quantities(quantities: Iterable[str], kind: str = "loss") -> list[str]:
    """The losses (or excess losses) at common mask rates among some quantities, by rate."""
    found = ((common_mask_rate(q), q) for q in set(quantities) if q.endswith(f"/{kind}"))
    return [quantity for _, quantity in sorted((rate, q) for rate, q in found if rate is not None)]


def lower_is_better(quantity: str) -> bool:
    return _last_part(quantity) in _LOWER_IS_BETTER


def is_excess_loss(quantity: str) -> bool:
    """True for nats above the Bayes loss, on any question; drawn, averaged and interpolated on a log scale."""
    return _last_part(quantity) == "excess_loss"


def label(quantity: str) -> str:
    """Name with unit, for axes and tables; an unknown quantity keeps its own name."""
    name = title(quantity)
    return f"{name} (nats per target)" if name != quantity and quantity.endswith("loss") else name


def title(quantity: str) -> str:
    """Name without unit, for a panel whose y-axis carries the unit."""
    if quantity == WORD_SWAP:
        return "word-swap accuracy"
    if quantity in (EXCESS_LOSS, BAYES_LOSS):
        return "excess loss" if quantity == EXCESS_LOSS else "Bayes loss"
    if match := _PROBE.fullmatch(quantity):
        return f"{match[1]} probe, {_IN_WORDS[match[2]]}"
    if match := _CLOZE.fullmatch(quantity):
        return f"validation {_IN_WORDS[match[2]]} at {100 * float(match[1]):g} % masked"
    if match := _OWN_QUESTION.fullmatch(quantity):
        return f"{'training' if match[1] == 'train' else 'validation'} {_IN_WORDS[match[2]]}"
    return quantity


def unit(quantity: str) -> str:
    """What a shared metric or a loss is counted in."""
    if quantity.endswith("loss"):
        return "nats per target"
    return _IN_WORDS.get(_last_part(quantity), "accuracy")


def capitalised(text: str) -> str:
    """Text with its first letter as a capital, the rest left as it is."""
    return text[:1].upper() + text[1:]


def _last_part(quantity: str) -> str:
    return quantity.rpartition("/")[2]
