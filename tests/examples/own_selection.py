"""A selection of whole spans (after Joshi et al. 2020, SpanBERT), for the corruption of MLM.

B blocks, T positions.
"""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from objectives import Key, Selection, uniform


@dataclass(frozen=True)
class Spans(Selection):
    """Spans of `length` positions, which may overlap, begin anywhere so often that a share `rate` is inside one."""

    length: int = 3
    """Positions of a span."""

    def __post_init__(self) -> None:
        if self.length < 1:
            raise ValueError(f"a span has at least one position, but length is {self.length}")

    def __call__(self, regular_BT: Tensor, rate_B1: Tensor, key: Key) -> Tensor:
        begins = uniform(key, "span", regular_BT.shape[1] + self.length - 1) < 1 - (1 - rate_B1) ** (1 / self.length)
        return regular_BT & begins.unfold(1, self.length, 1).any(-1)
