"""Nats above the best possible loss: the one unit in which different objectives can be compared.

B blocks, T positions, N asked positions.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torchmetrics import Metric
from torchmetrics.utilities import dim_zero_cat

from objectives import Predictions

IMPOSSIBLE = 3
"""A loss so many standard errors below the best possible one is an error in somebody's arithmetic."""


class Excess(Metric):
    """Loss minus floor over the same blocks and masks; the standard error takes blocks as the units."""

    full_state_update = False
    nats: list[Tensor]
    targets: list[Tensor]
    floor: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.add_state("nats", [], dist_reduce_fx="cat")
        self.add_state("targets", [], dist_reduce_fx="cat")
        self.add_state("floor", torch.zeros((), dtype=torch.float64), dist_reduce_fx="sum")

    def update(self, predictions: Predictions, floor_BT: Tensor) -> None:
        """Add a batch. floor_BT: lowest possible nats at each asked position, float64."""
        floor_BT = floor_BT.to(predictions.nats_N.device)
        nats_BT = torch.zeros_like(floor_BT)
        nats_BT[predictions.targeted_BT] = predictions.nats_N
        self.nats.append((nats_BT - floor_BT).sum(1))
        self.targets.append(predictions.targeted_BT.sum(1).double())
        self.floor += floor_BT.sum()

    def compute(self) -> dict[str, float]:
        """floor_nats, excess_nats and excess_error (its standard error), per target.

        Raises:
            ArithmeticError: when the excess is more than 3 standard errors below 0.
        """
        nats_B, targets_B = dim_zero_cat(self.nats), dim_zero_cat(self.targets)
        targets = targets_B.sum()
        excess = nats_B.sum() / targets
        # Ratio estimator: the deviation of each block from what the overall rate expects of it.
        error = (nats_B - excess * targets_B).square().sum().sqrt() / targets
        if excess < -IMPOSSIBLE * error:
            raise ArithmeticError(
                f"the loss is {-excess:.4f} nats below the best possible one ({IMPOSSIBLE} standard errors are "
                f"{IMPOSSIBLE * error:.4f}): either the floor or the loss is computed wrongly"
            )
        return {
            "bayes_loss": (self.floor / targets).item(),
            "excess_loss": excess.item(),
            "excess_loss_standard_error": error.item(),
        }
