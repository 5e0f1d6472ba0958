"""A selection by systematic sampling (Madow & Madow 1944), for the corruption of MLM.

B blocks, T positions.
"""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from objectives import Key, Selection, Vocabulary, uniform


@dataclass(frozen=True)
class Spaced(Selection):
    """Of the regular positions each 1/rate-th, from a random one on: those selected are as far apart as can be."""

    def __call__(self, tokens_BT: Tensor, rate_B1: Tensor, key: Key, vocabulary: Vocabulary) -> Tensor:
        regular_BT = ~vocabulary.is_special(tokens_BT)
        offset_B1, count_BT = uniform(key, "offset", 1), regular_BT.cumsum(1)
        due_BT, due_before_BT = ((offset_B1 + rate_B1 * count).floor() for count in (count_BT, count_BT - 1))
        return regular_BT & (due_BT > due_before_BT)
