"""Holm's correction: of many comparisons, which still stand when none may be claimed wrongly."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

Key = TypeVar("Key")


def holm(p_values: Mapping[Key, float]) -> dict[Key, float]:
    """Adjusted p-values (Holm 1979, Scandinavian Journal of Statistics 6).

    When what has one of at most α is claimed, the probability of any false claim is at most α, however the comparisons
    depend on one another.
    """
    ordered = sorted(p_values, key=lambda key: p_values[key])
    adjusted, largest = {}, 0.0
    for rank, key in enumerate(ordered):
        largest = max(largest, min(1.0, (len(ordered) - rank) * p_values[key]))
        adjusted[key] = largest
    return adjusted
