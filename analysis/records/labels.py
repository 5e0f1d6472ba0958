"""What budgets and quantities are called in tables, figures and sentences."""

from __future__ import annotations

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
