"""Where the target positions of a batch are, in the forms in which the encoder needs them.

B sequences, T positions, N target positions, K target positions of the sequence that has most.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

SPARSE = 0.75
"""Share of the positions up to which the last layer computes the target positions alone."""


class TargetPositions(NamedTuple):
    """The target positions of a batch, row by row."""

    place_N: Tensor
    """Index of each in the flattened (B, T)."""
    position_BK: Tensor | None
    """Positions of the targets of each row, at the end of it 0 for want of more; None where there are so many that the
    last layer computes all positions."""
    slot_N: Tensor
    """Index of each in the flattened (B, K)."""

    @classmethod
    def of(cls, targeted_BT: Tensor) -> TargetPositions:
        """Those that are True. Its sizes depend on the values, so a GPU would have to be waited for."""
        row_N, position_N = targeted_BT.nonzero().unbind(1)
        rows, length = targeted_BT.shape
        count_B = torch.bincount(row_N, minlength=rows)
        most = max(1, int(count_B.max()))  # no target at all is a batch too
        place_N = row_N * length + position_N
        if most > SPARSE * length:
            return cls(place_N, None, place_N)
        start_B = count_B.cumsum(0) - count_B
        slot_N = row_N * most + torch.arange(len(row_N), device=row_N.device) - start_B[row_N]
        position_BK = position_N.new_zeros(rows, most).view(-1).index_copy(0, slot_N, position_N).view(rows, most)
        return cls(place_N, position_BK, slot_N)

    @property
    def queries(self) -> int | None:
        """B · K, the positions that attend in the last layer; None for all."""
        return None if self.position_BK is None else self.position_BK.numel()
