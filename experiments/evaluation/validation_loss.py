"""Loss on the validation blocks: at the targets of the objective itself, or of other views.

B blocks, T positions, N target positions.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

from experiments.data import BlockData
from experiments.evaluation.excess_loss import NATS, ExcessLoss, by_block, excess_quantities, weights
from experiments.evaluation.metric import SharedMetric
from experiments.evaluation.ranks import rank_and_count, summed
from experiments.evaluation.standard_errors import SUMS, cluster_sums, error_name, folds, ratio, with_standard_error
from experiments.records.quantities import Quantity
from objectives import Key, Objective, Predictions, View
from objectives.inference.language_model import inference_mode

SCORES = ("loss", "accuracy", "bits_per_character")
Views = Callable[[Tensor, Key], tuple[View, ...]]


class ValidationLoss(SharedMetric):
    """Loss on the validation blocks, at the targets of the objective itself; and how far it is above the Bayes loss,
    where that is known for every view."""

    def quantities(self) -> list[Quantity]:
        own = "On the question of the arm's own objective, by which only arms of the same question can be compared."
        characters = "Nats of the predicted tokens over the characters they stand for, in bits."
        scores = [
            Quantity("validation/loss", "validation loss", NATS, "lower", "question", figure="losses", description=own),
            Quantity("validation/accuracy", "validation accuracy", "accuracy", "higher", "question", description=own),
        ]
        if self.data.vocabulary.characters_per_token is not None:
            scores.append(
                Quantity(
                    "validation/bits_per_character",
                    "validation bits per character",
                    "bits",
                    "lower",
                    "question",
                    description=characters,
                )
            )
        return [
            *(one for score in scores for one in with_standard_error(score)),
            Quantity("validation/density", "targets per validation token", "share"),
            *with_standard_error(
                Quantity(
                    "validation/bayes_loss",
                    "Bayes loss",
                    NATS,
                    level_of="validation/loss",
                    bounds="all",
                    description="The lowest loss that any model can reach on the question.",
                )
            ),
            *excess_quantities("validation", "excess loss"),
        ]

    def measure(self, objective: Objective) -> dict[str, float]:
        measured = validation_loss(objective, self.data)
        return {f"validation/{name}": value for name, value in measured.items()}


def validation_loss(objective: Objective, data: BlockData, views: Views | None = None) -> dict[str, float]:
    """loss (nats per target, weighted) and accuracy with their standard errors, and density; bits_per_character where
    tokens stand for text, and what `ExcessLoss` gives where the Bayes loss of every view is known.

    Args:
        views: what is read and predicted, of clean tokens; the objective's own views when not given.
    """
    loss = NegativeLogLikelihood(objective.vocabulary.characters_per_token, objective.device)
    excess, known = ExcessLoss(objective.device), True
    with inference_mode(objective):
        for batch in data.validation_batches(*rank_and_count()):
            batch = batch.to(objective.device)
            batch_views = (views or objective.views)(batch.tokens_BT, batch.evaluation_key())
            predictions = [objective.predict(view, batch.tokens_BT) for view in batch_views]
            fold_B = folds(batch.index_B)
            loss.update(fold_B, *predictions)
            bayes = [data.bayes_loss(view, batch.tokens_BT) for view in batch_views]
            answered = [bayes_BT for bayes_BT in bayes if bayes_BT is not None]
            if len(answered) < len(bayes):
                known = False
            else:
                excess.update(fold_B, *zip(predictions, answered, strict=True))
    return loss.compute() | (excess.compute() if known and excess.sums[2] else {})


class NegativeLogLikelihood:
    """Loss at target positions: nats per target, accuracy, bits per character of the original text; each with its
    standard error, which takes blocks as the units. Nats, and the characters they are divided by, have the weights of
    their targets: loss is Σ w · nats / Σ w. Accuracy counts each target once. Ranks add their blocks up.

    Perplexity is exp(loss); it is not recorded, because it overflows. Bits per character divides by the
    characters that the regular targets stand for (end tokens cost nats but stand for no character); for CLM over whole
    documents it is a code length, for MLM it is the cost of the predicted part of the text only.
    """

    def __init__(self, characters_per_token: float | None, device: torch.device | str = "cpu") -> None:
        self.characters_per_token = characters_per_token
        self.scores = SCORES if characters_per_token is not None else ("loss", "accuracy")
        self.sums = {name: torch.zeros(SUMS, dtype=torch.float64, device=device) for name in self.scores}
        self.tokens = torch.zeros((), dtype=torch.float64, device=device)

    def update(self, fold_B: Tensor, *views: Predictions) -> None:
        """Add the predictions for the views of a batch, of whose blocks fold_B are the `folds`; its tokens are counted
        once."""
        counted = []
        for one in views:
            weights_N, ones_N = weights(one), torch.ones_like(one.nats_N)
            values = (weights_N * one.nats_N, weights_N, weights_N * ~one.special_N, one.correct_N, ones_N)
            counted.append([by_block(one, values_N) for values_N in values])
        nats_B, weight_B, regular_B, correct_B, targets_B = (
            torch.stack(parts).sum(0) for parts in zip(*counted, strict=True)
        )
        self.sums["loss"] += cluster_sums(nats_B, weight_B, fold_B)
        self.sums["accuracy"] += cluster_sums(correct_B, targets_B, fold_B)
        if self.characters_per_token is not None:
            characters_B = regular_B * self.characters_per_token
            self.sums["bits_per_character"] += cluster_sums(nats_B / math.log(2), characters_B, fold_B)
        self.tokens += views[0].targeted_BT.numel()

    def compute(self) -> dict[str, float]:
        """loss, accuracy, bits_per_character where tokens stand for text, their standard errors, and density; nan where
        there was no target, and standard errors where there was one block."""
        sums = {name: summed(one) for name, one in self.sums.items()}
        found: dict[str, float] = {}
        for name in self.scores:
            found[name], found[error_name(name)] = ratio(sums[name])
        targets, tokens = sums["accuracy"][2].item(), summed(self.tokens).item()
        return found | {"density": targets / tokens if tokens else math.nan}
