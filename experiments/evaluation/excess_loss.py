"""Excess loss: nats per target above the Bayes loss, the one unit in which losses of all objectives can be compared.

B blocks, T positions, N target positions.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torchmetrics import Metric
from torchmetrics.utilities import dim_zero_cat

from experiments.records.quantities import Quantity
from objectives import Predictions

NATS = "nats per target"

IMPOSSIBLE = 3
"""A loss so many standard errors below the Bayes loss shows that one of the two is wrong."""
ROUNDING = 1e-9
"""Nats below it that rounding explains."""


def excess_quantities(where: str, label: str, figure: str = "") -> tuple[Quantity, Quantity]:
    """Declarations of `<where>/excess_loss` and of its standard error; that of the own question is a headline."""
    description = (
        "The rules of the language are known, and so is the Bayes loss, the lowest loss that any model can reach on a "
        "question. Losses of different objectives cannot be compared; their excess over it, in nats per target, can."
    )
    error = f"{where}/excess_loss_standard_error"
    excess = Quantity(
        f"{where}/excess_loss",
        label,
        NATS,
        better="lower",
        comparable="all",
        headline=not figure,
        scale="log",
        best=0.0,
        standard_error=error,
        figure=figure,
        description=description,
    )
    return excess, Quantity(error, f"standard error of the {label}", NATS)


class ExcessLoss(Metric):
    """Loss minus Bayes loss at the same targets, of all views; its standard error takes blocks as the units."""

    full_state_update = False
    excess: list[Tensor]
    targets: list[Tensor]
    bayes: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.add_state("excess", [], dist_reduce_fx="cat")
        self.add_state("targets", [], dist_reduce_fx="cat")
        self.add_state("bayes", torch.zeros((), dtype=torch.float64), dist_reduce_fx="sum")

    def update(self, *views: tuple[Predictions, Tensor]) -> None:
        """Add, for each view of a batch, the predictions and the least possible nats at each target, (B, T) float64."""
        excess, targets = [], []
        for predictions, bayes_BT in views:
            bayes_BT = bayes_BT.to(predictions.nats_N.device)
            nats_BT = torch.zeros_like(bayes_BT)
            nats_BT[predictions.targeted_BT] = predictions.nats_N
            excess.append((nats_BT - bayes_BT).sum(1))
            targets.append(predictions.targeted_BT.sum(1).double())
            self.bayes += bayes_BT.sum()
        self.excess.append(torch.stack(excess).sum(0))
        self.targets.append(torch.stack(targets).sum(0))

    def compute(self) -> dict[str, float]:
        """bayes_loss, excess_loss and excess_loss_standard_error, per target.

        Raises:
            ArithmeticError: when the excess is more than 3 standard errors below 0.
        """
        excess_B, targets_B = dim_zero_cat(self.excess), dim_zero_cat(self.targets)
        targets = targets_B.sum()
        excess = excess_B.sum() / targets
        # Ratio estimator: the deviation of each block from what the overall rate expects of it.
        error = (excess_B - excess * targets_B).square().sum().sqrt() / targets
        if excess < -IMPOSSIBLE * error - ROUNDING:
            raise ArithmeticError(
                f"the loss is {-excess:.4f} nats below the Bayes loss ({IMPOSSIBLE} standard errors are "
                f"{IMPOSSIBLE * error:.4f}): one of the two is computed wrongly"
            )
        return {
            "bayes_loss": (self.bayes / targets).item(),
            "excess_loss": excess.item(),
            "excess_loss_standard_error": error.item(),
        }
