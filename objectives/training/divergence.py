"""A training whose loss or gradient is no number any more has ended: nothing it does from then on means anything."""

from __future__ import annotations

import torch
from torch import Tensor


class Diverged(Exception):
    """The training loss or the norm of the gradient is not finite; the message says which. The weights still are.

    Args:
        step: the number of the first step that was not taken.
    """

    def __init__(self, message: str, step: int) -> None:
        super().__init__(message)
        self.step = step


class GradientWatch:
    """Keeps a fused optimiser from taking a step whose gradient is not finite, and all later ones, without waiting for
    the device that computes them."""

    def __init__(self) -> None:
        self.first: Tensor | None = None
        """Number of the first step that was not taken; −1 while there is none."""
        self.norm: Tensor | None = None
        """The norm of the gradient then."""

    def watch(self, optimizer: torch.optim.Optimizer, norm: Tensor, step: int) -> None:
        """Look at the gradient of a step that is about to be taken."""
        norm = norm.detach()
        if self.first is None or self.norm is None:
            self.first, self.norm = torch.full_like(norm, -1, dtype=torch.int64), torch.zeros_like(norm)
        begins = (self.first < 0) & ~norm.isfinite()
        self.first = torch.where(begins, step, self.first)
        self.norm = torch.where(begins, norm, self.norm)
        optimizer.found_inf = (self.first >= 0).float()  # type: ignore[attr-defined]

    def check(self) -> None:
        """Raises Diverged when a step has not been taken; waits for the device."""
        if self.first is not None and self.norm is not None and (step := int(self.first)) >= 0:
            raise Diverged(f"the norm of the gradient is {self.norm.item()}", step)
