"""Loss at common mask rates: all objectives that predict masked tokens fill the same gaps."""

from __future__ import annotations

from torch import Tensor

from experiments.data import BlockData
from experiments.evaluation.validation_loss import validation_loss
from objectives import Corruption, Key, Objective, View
from objectives.mlm import cloze

RECORDED = ("loss", "excess_loss", "excess_loss_standard_error")


def fills_masks(objective: Objective) -> bool:
    """Whether an objective predicts the token under a [MASK]: whether it offers the pseudo-log-likelihood."""
    return "pll" in objective.traits.scores


def cloze_loss(objective: Objective, data: BlockData, rate: float) -> dict[str, float]:
    """The loss at a mask rate and with BERT's mix, whatever the objective's own corruption; and the excess loss, where
    it is known."""
    corruption = Corruption(rate=rate)

    def views(tokens_BT: Tensor, key: Key) -> tuple[View, ...]:
        return (cloze(tokens_BT, key, corruption, objective.vocabulary),)

    measured = validation_loss(objective, data, views)
    return {name: measured[name] for name in RECORDED if name in measured}
