"""What the recorded quantities are called, which way is better, and where they may be compared."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

CHANCE = 0.5
EXCESS, FLOOR = "validation/excess_loss", "validation/bayes_loss"
LOSS = "validation/loss"
IMBALANCED = 0.8
"""From this share of the majority class on, accuracy says little and macro F1 is the main yardstick of a
probe.
"""


@dataclass(frozen=True)
class Axis:
    """A cumulative budget a curve can be drawn against."""

    name: str
    label: str
    unit: str
    """What stands behind a number of this axis in a sentence."""


AXES = {
    axis.name: axis
    for axis in (
        Axis("tokens", "tokens read", "tokens"),
        Axis("targets", "supervised tokens", "supervised tokens"),
        Axis("flops", "training FLOPs", "FLOPs"),
        Axis("seconds", "training time (s)", "s"),
    )
}

_YARDSTICK = re.compile(rf"probe/[^/]+/(accuracy|macro_f1)|word_swap/accuracy|{EXCESS}")
_OWN = re.compile(r"(train|validation)/(loss|accuracy|bits_per_character)")
_AT_RATE = re.compile(r"cloze/([0-9.]+)/(loss|excess_loss)")
_LOWER_IS_BETTER = ("loss", "excess_loss", "bayes_loss", "bits_per_character")


def is_yardstick(quantity: str) -> bool:
    """True for what every objective can be measured with: probes, real-versus-scrambled, and excess over the floor."""
    return _YARDSTICK.fullmatch(quantity) is not None


def is_own_question(quantity: str) -> bool:
    """True for what an arm scores on the question its own objective asks; never comparable between two."""
    return _OWN.fullmatch(quantity) is not None


def mask_rate_of(quantity: str) -> float | None:
    """The rate of a quantity measured on the common grid of mask rates, `cloze/0.3/loss` -> 0.3."""
    match = _AT_RATE.fullmatch(quantity)
    return float(match[1]) if match else None


def lower_is_better(quantity: str) -> bool:
    return quantity.rpartition("/")[2] in _LOWER_IS_BETTER


def is_logarithmic(quantity: str) -> bool:
    """True for what is drawn, averaged over curves and interpolated on a log scale: distances that go to 0."""
    return quantity.endswith("/excess_loss")


def ceiling_quantity(quantity: str, view: str) -> str:
    """The recorded constant that a probe's accuracy cannot pass from one view of the text: token, past or both."""
    return f"{quantity.rpartition('/')[0]}/bayes_accuracy_{view}"


def chance_quantity(quantity: str) -> str | None:
    """The recorded constant a yardstick starts from: a probe's majority-class accuracy."""
    match = re.fullmatch(r"(probe/[^/]+)/accuracy", quantity)
    return f"{match[1]}/majority_accuracy" if match else None


def label(quantity: str) -> str:
    """Name with unit, for axes and tables; an unknown quantity keeps its own name."""
    if quantity == "word_swap/accuracy":
        return "real-versus-scrambled accuracy"
    if quantity in (EXCESS, FLOOR):
        return f"{'excess' if quantity == EXCESS else 'best possible loss'} (nats per target)"
    if match := re.fullmatch(r"probe/([^/]+)/(accuracy|macro_f1|majority_accuracy)", quantity):
        kind = {"accuracy": "accuracy", "macro_f1": "macro F1", "majority_accuracy": "majority-class accuracy"}[match[2]]
        return f"{match[1]} probe, {kind}"
    if match := _AT_RATE.fullmatch(quantity):
        return f"held-out {_KINDS[match[2]]} at {100 * float(match[1]):g} % masked"
    if match := _OWN.fullmatch(quantity):
        return f"{'training' if match[1] == 'train' else 'held-out'} {_KINDS[match[2]]}"
    return quantity


_KINDS = {
    "loss": "loss (nats per target)",
    "excess_loss": "excess (nats per target)",
    "accuracy": "accuracy at targets",
    "bits_per_character": "bits per character",
}


def sentence(text: str) -> str:
    """Text that begins with a capital; the rest is left as it is."""
    return text[:1].upper() + text[1:]


def title(quantity: str) -> str:
    """The label without its unit, for a panel whose y-axis carries the unit."""
    if quantity == EXCESS:
        return "excess over the best possible loss"
    return label(quantity).replace(" (nats per target)", "")


def unit(quantity: str) -> str:
    """What a yardstick or a loss is counted in."""
    if quantity.endswith("loss"):
        return "nats per target"
    return "macro F1" if quantity.endswith("/macro_f1") else "accuracy"


def yardsticks(quantities: Iterable[str]) -> list[str]:
    """The yardsticks among some quantities: excess, probes by name, then real-versus-scrambled."""
    return sorted((q for q in set(quantities) if is_yardstick(q)), key=lambda q: (q != EXCESS, q))


def rates(quantities: Iterable[str], kind: str = "loss") -> list[str]:
    """The losses (or excesses) at common mask rates among some quantities, by rate."""
    found = [q for q in set(quantities) if mask_rate_of(q) is not None and q.endswith(f"/{kind}")]
    return sorted(found, key=lambda q: (mask_rate_of(q) or 0.0, q))
