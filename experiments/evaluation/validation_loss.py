"""Loss on the validation blocks: at the targets of the objective itself, or of other views.

B blocks, T positions, N target positions.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor
from torchmetrics import Metric

from experiments.data import BlockData
from experiments.evaluation.excess_loss import NATS, ExcessLoss, excess_quantities
from experiments.evaluation.metric import SharedMetric
from experiments.records.quantities import Quantity
from objectives import Batch, Key, Objective, Predictions, View, evaluation_key
from objectives.inference.language_model import inference_mode

Views = Callable[[Tensor, Key], tuple[View, ...]]


class ValidationLoss(SharedMetric):
    """Loss on the validation blocks, at the targets of the objective itself; and how far it is above the Bayes loss,
    where that is known for every view."""

    def quantities(self) -> list[Quantity]:
        own = "On the question of the arm's own objective, by which only arms of the same question can be compared."
        characters = "Nats of the predicted tokens over the characters they stand for, in bits."
        excess, error = excess_quantities("validation", "excess loss")
        return [
            Quantity("validation/loss", "validation loss", NATS, "lower", "question", figure="losses", description=own),
            Quantity("validation/accuracy", "validation accuracy", "accuracy", "higher", "question", description=own),
            Quantity(
                "validation/bits_per_character",
                "validation bits per character",
                "bits",
                "lower",
                "question",
                description=characters,
            ),
            Quantity("validation/density", "targets per validation token", "share"),
            Quantity(
                "validation/bayes_loss",
                "Bayes loss",
                NATS,
                level_of="validation/loss",
                bounds="all",
                description="The lowest loss that any model can reach on the question.",
            ),
            excess,
            error,
        ]

    def measure(self, objective: Objective) -> dict[str, float]:
        measured = validation_loss(objective, self.data)
        return {f"validation/{name}": value for name, value in measured.items()}


def validation_loss(objective: Objective, data: BlockData, views: Views | None = None) -> dict[str, float]:
    """loss (nats per target), accuracy, bits_per_character and density; with what `ExcessLoss` gives where the Bayes
    loss of every view is known.

    Args:
        views: what is read and predicted, of clean tokens; the objective's own views when not given.
    """
    loss = NegativeLogLikelihood(objective.vocabulary.characters_per_token).to(objective.device)
    excess, known = ExcessLoss().to(objective.device), True
    with inference_mode(objective):
        for batch in data.validation_batches():
            batch = Batch(*(part.to(objective.device) for part in batch))
            batch_views = (views or objective.views)(batch.tokens_BT, evaluation_key(batch.index_B))
            predictions = [objective.predict(view, batch.tokens_BT) for view in batch_views]
            loss.update(*predictions)
            bayes = [data.bayes_loss(view, batch.tokens_BT) for view in batch_views]
            answered = [bayes_BT for bayes_BT in bayes if bayes_BT is not None]
            if len(answered) < len(bayes):
                known = False
            else:
                excess.update(*zip(predictions, answered, strict=True))
    return loss.compute() | (excess.compute() if known and excess.targets else {})


class NegativeLogLikelihood(Metric):
    """Loss at target positions: nats per target, accuracy, bits per character of the original text.

    Perplexity is exp(loss); it is not recorded, because it overflows. Bits per character divides by the
    characters that the regular targets stand for (end tokens cost nats but stand for no character); for CLM over whole
    documents it is a code length, for MLM it is the cost of the predicted part of the text only.
    """

    full_state_update = False
    higher_is_better = False
    nats: Tensor
    targets: Tensor
    regular: Tensor
    correct: Tensor
    tokens: Tensor

    def __init__(self, characters_per_token: float) -> None:
        super().__init__()
        self.characters_per_token = characters_per_token
        for name in ("nats", "targets", "regular", "correct", "tokens"):
            self.add_state(name, torch.zeros((), dtype=torch.float64), dist_reduce_fx="sum")

    def update(self, *views: Predictions) -> None:
        """Add the predictions for the views of a batch; its tokens are counted once."""
        for predictions in views:
            self.nats += predictions.nats_N.sum()
            self.targets += predictions.nats_N.numel()
            self.regular += (~predictions.special_N).sum()
            self.correct += predictions.correct_N.sum()
        self.tokens += views[0].targeted_BT.numel()

    def compute(self) -> dict[str, float]:
        """loss, accuracy, bits_per_character and density; nan where there was no target."""
        nats, targets, regular, correct, tokens = (
            getattr(self, name).item() for name in ("nats", "targets", "regular", "correct", "tokens")
        )
        characters = regular * self.characters_per_token
        return {
            "loss": nats / targets if targets else math.nan,
            "accuracy": correct / targets if targets else math.nan,
            "bits_per_character": nats / math.log(2) / characters if characters else math.nan,
            "density": targets / tokens if tokens else math.nan,
        }
