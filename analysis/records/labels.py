"""What budgets and quantities are called in tables, figures and sentences."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from experiments.records.quantities import Quantity


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


def with_unit(quantity: Quantity) -> str:
    """The label with the unit in brackets, unless it ends with that."""
    plain = not quantity.unit or quantity.label.endswith(quantity.unit)
    return quantity.label if plain else f"{quantity.label} ({quantity.unit})"


def unit_and_direction(quantity: Quantity) -> str:
    """The unit, and that less is better where it is."""
    return f"{quantity.unit}, less is better" if quantity.better == "lower" else quantity.unit


def capitalised(text: str) -> str:
    """Text with its first letter as a capital, the rest left as it is."""
    return text[:1].upper() + text[1:]


def bracketed(name: str) -> str:
    """The name of an arm of several levels in brackets, so that it can be told from what stands beside it."""
    return f"({name})" if "; " in name else name


def listed(names: Iterable[str]) -> str:
    """Names of arms, so that one can tell where each ends."""
    return "; ".join(map(bracketed, names))
