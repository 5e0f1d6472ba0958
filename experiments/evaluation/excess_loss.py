"""Excess loss: nats per target above the Bayes loss, the one unit in which losses of all objectives can be compared.

B blocks, T positions, N target positions.
"""

from __future__ import annotations

import torch
from torch import Tensor

from experiments.evaluation.ranks import summed
from experiments.evaluation.standard_errors import SUMS, cluster_sums, error_name, ratio, with_standard_error
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
    return with_standard_error(
        Quantity(
            f"{where}/excess_loss",
            label,
            NATS,
            better="lower",
            comparable="all",
            headline=not figure,
            scale="log",
            best=0.0,
            figure=figure,
            description=description,
        )
    )


def by_block(predictions: Predictions, values_N: Tensor) -> Tensor:
    """Sum in each block of what is given at its target positions, (B,) float64."""
    values_BT = torch.zeros(predictions.targeted_BT.shape, dtype=torch.float64, device=values_N.device)
    values_BT[predictions.targeted_BT] = values_N.double()
    return values_BT.sum(1)


def weights(predictions: Predictions) -> Tensor:
    """Weight of each target, (N,) float64."""
    if predictions.weights_N is None:
        return torch.ones_like(predictions.nats_N)
    return predictions.weights_N.double()


class ExcessLoss:
    """Loss minus Bayes loss at the same targets, of all views, each with its weight; the standard error takes blocks
    as the units. Ranks add their blocks up."""

    def __init__(self, device: torch.device | str = "cpu") -> None:
        self.sums = torch.zeros(SUMS, dtype=torch.float64, device=device)
        self.bayes = torch.zeros(SUMS, dtype=torch.float64, device=device)

    def update(self, fold_B: Tensor, *views: tuple[Predictions, Tensor]) -> None:
        """Add, for each view of a batch, the predictions and the least possible nats at each target, (B, T) float64;
        fold_B are the `folds` of its blocks."""
        excess, bayes, weight = [], [], []
        for predictions, bayes_BT in views:
            bayes_N, weights_N = bayes_BT.to(predictions.nats_N.device)[predictions.targeted_BT], weights(predictions)
            excess.append(by_block(predictions, weights_N * (predictions.nats_N - bayes_N)))
            bayes.append(by_block(predictions, weights_N * bayes_N))
            weight.append(by_block(predictions, weights_N))
        weight_B = torch.stack(weight).sum(0)
        self.sums += cluster_sums(torch.stack(excess).sum(0), weight_B, fold_B)
        self.bayes += cluster_sums(torch.stack(bayes).sum(0), weight_B, fold_B)

    def compute(self) -> dict[str, float]:
        """bayes_loss and excess_loss, weighted means over the targets, with their standard errors.

        Raises:
            ArithmeticError: when the excess is more than 3 standard errors below 0.
        """
        excess, error = ratio(summed(self.sums))
        if excess < -IMPOSSIBLE * error - ROUNDING:
            raise ArithmeticError(
                f"the loss is {-excess:.4f} nats below the Bayes loss ({IMPOSSIBLE} standard errors are "
                f"{IMPOSSIBLE * error:.4f}): one of the two is computed wrongly"
            )
        bayes, bayes_error = ratio(summed(self.bayes))
        return {
            "bayes_loss": bayes,
            error_name("bayes_loss"): bayes_error,
            "excess_loss": excess,
            error_name("excess_loss"): error,
        }
