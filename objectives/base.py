"""The one abstraction: an objective turns clean tokens into views; everything else is shared.

B blocks, T positions, D width, N target positions.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from objectives.encoder.model import Encoder
from objectives.encoder.targets import SPARSE, TargetPositions
from objectives.settings import SharedSettings
from objectives.training.flops import training_flops
from objectives.training.loss import summed_nll, target_nlls
from objectives.training.optimizer import mean_over_budget
from objectives.training.randomness import Key
from objectives.traits import Traits
from objectives.view import IGNORE, Predictions, View, ViewLoss

LOGITS = 2**22
"""Logits that predictions hold at once."""


class Objective(nn.Module, ABC):
    """A training objective over the shared encoder; a subclass defines `views`, `densities` and `traits`.

    A plain torch module; what Lightning trains is `lightning_module.TrainingModule`, around one.

    Args:
        shared: the fields of SharedSettings. A subclass hands them on as `**shared`, and keeps arguments of its own
            under their names.
    """

    shared: SharedSettings
    """The settings that all objectives share."""

    def __init__(self, **shared: Any) -> None:
        super().__init__()
        self.shared = SharedSettings(**shared)
        self.vocabulary = self.shared.vocabulary
        self._budgets: dict[int, int] = {}
        self.encoder = Encoder(self.shared.encoder, self.vocabulary.size, self.shared.seed)

    @property
    @abstractmethod
    def traits(self) -> Traits:
        """What the objective says of itself, by its own settings; it depends on no shared one."""

    @abstractmethod
    def densities(self, spent: float) -> tuple[float, ...]:
        """For each view, its targets per token read, by the settings, when a share `spent` of the budget is read."""

    def nominal_weight(self, spent: float) -> float:
        """Expected weight of all targets per token read; `reduction: mean` divides the loss by it."""
        return sum(self.densities(spent))

    @property
    def switches(self) -> tuple[float, ...]:
        """Shares of the budget, in (0, 1), at which it changes at once: a snapshot is taken at each."""
        return ()

    @property
    def optimizer_resets(self) -> tuple[float, ...]:
        """Shares of the budget, in (0, 1), at which the state of the optimiser is emptied."""
        return ()

    @property
    def schedule_restarts(self) -> tuple[float, ...]:
        """Shares of the budget, in (0, 1) and ascending, at which warm-up and decay of the learning rate begin anew."""
        return ()

    @property
    def nominal_density(self) -> float:
        """Targets of all views per token read, by the settings; the mean over the budget."""
        return mean_over_budget(lambda spent: sum(self.densities(spent)))

    @abstractmethod
    def views(self, tokens_BT: Tensor, key: Key) -> tuple[View, ...]:
        """What is read and what is predicted, as often as there are `densities`; a pure function of (tokens, key)."""

    def encode(self, view: View, tokens_BT: Tensor, targets: TargetPositions | None = None) -> Tensor:
        """Hidden states (B, T, D) of a view of clean `tokens_BT`, or (N, D) at its target positions alone."""
        documents_BT = self.document_numbers(tokens_BT)
        return self.encoder(*map(self._here, (view.inputs_BT, view.attention, documents_BT)), targets)

    def read(self, tokens_BT: Tensor, layers: int = 1) -> Tensor:
        """Hidden states (B, T, layers · D) of clean tokens, those of the last layers side by side, under the attention
        of features. Raises ValueError when there are not so many layers."""
        documents_BT = self.document_numbers(tokens_BT)
        return torch.cat(self.encoder.hidden_states(tokens_BT, self.traits.attention, documents_BT, layers), dim=-1)

    def document_numbers(self, tokens_BT: Tensor) -> Tensor | None:
        """Which document of its row each clean token belongs to, (B, T); None when every row is one: it needs no mask.

        [CLS] starts a document, unless documents are joined; each padding token counts as a document, so that no other
        token sees it.
        """
        starts_BT = tokens_BT == self.vocabulary.pad
        if self.shared.documents == "separate":
            starts_BT = starts_BT | (tokens_BT == self.vocabulary.cls)
        return starts_BT.cumsum(1) if bool(starts_BT[:, 1:].any()) else None

    @property
    def device(self) -> torch.device:
        """Where the encoder is."""
        return self.encoder.decoder_bias.device

    def _here(self, part: Any) -> Any:
        """A tensor on the encoder's device; anything else as it is."""
        if not isinstance(part, Tensor) or part.device == self.device:
            return part
        return (part.pin_memory() if self.device.type == "cuda" else part).to(self.device, non_blocking=True)

    def view_loss(self, view: View, tokens_BT: Tensor) -> ViewLoss:
        """The loss over the targets of a view of clean `tokens_BT`, and what it took.

        A view on the host is handed to the device of the encoder, which is not waited for.
        """
        places = TargetPositions.of(view.targets_BT != IGNORE)
        targets_N = self._here(view.targets_BT.flatten()[places.place_N])
        features_ND = self.encoder.head(self.encode(view, tokens_BT, TargetPositions(*map(self._here, places))))
        decoder = (self.encoder.embedding.weight, self.encoder.decoder_bias)
        if view.weights_BT is None:
            loss, weight = summed_nll(features_ND, *decoder, targets_N), float(targets_N.numel())
        else:
            weights_N = view.weights_BT.flatten()[places.place_N]
            loss = (self._here(weights_N) * target_nlls(features_ND, *decoder, targets_N)).sum()
            weight = weights_N.double().sum().item()
        return ViewLoss(
            loss,
            loss.detach().double(),
            weight,
            targets=targets_N.numel(),
            selected=0 if view.selected_BT is None else int(view.selected_BT.sum()),
            corrupted=int((view.inputs_BT != tokens_BT).sum()),
            flops=self._flops(tokens_BT.shape[1], tokens_BT.numel(), targets_N.numel(), places.queries),
        )

    def budget_tokens(self, length: int) -> int:
        """The budget in tokens, for blocks of `length`."""
        if length not in self._budgets:  # asked for at every step, and a mean over many
            self._budgets[length] = self.shared.budget.in_tokens(self.flops_per_token(length))
        return self._budgets[length]

    def flops_per_token(self, length: int) -> float:
        """Operations, forward and backward, for each token read in blocks of `length`, at the nominal densities; the
        mean over the budget."""
        return mean_over_budget(
            lambda spent: sum(
                self._flops(length, 1, share, None if share > SPARSE else share) for share in self.densities(spent)
            )
        )

    def _flops(self, length: int, tokens: int, targets: float, queries: float | None) -> float:
        return training_flops(self.encoder.config, self.vocabulary.size, length, tokens, targets, queries)

    def predict(self, view: View, tokens_BT: Tensor) -> Predictions:
        """What the model predicts at the target positions of a view of clean `tokens_BT`."""
        targeted_BT = view.targets_BT != IGNORE
        targets_N = view.targets_BT[targeted_BT]
        hidden_ND = self.encode(view, tokens_BT, TargetPositions.of(targeted_BT))
        size = max(1, LOGITS // self.vocabulary.size)
        nats, correct = [], []
        for hidden, targets in zip(hidden_ND.split(size), targets_N.split(size), strict=True):
            logits = self.encoder.decode(self.encoder.head(hidden)).float()
            nats.append(F.cross_entropy(logits, targets, reduction="none").double())
            correct.append(logits.argmax(-1) == targets)
        weights_N = None if view.weights_BT is None else view.weights_BT[targeted_BT]
        special_N = self.vocabulary.is_special(targets_N)
        return Predictions(targeted_BT, torch.cat(nats), torch.cat(correct), special_N, weights_N)
