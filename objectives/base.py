"""The one abstraction: an objective turns clean tokens into views; everything else is shared.

B blocks, T positions, D width, N target positions.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Any, ClassVar

import pytorch_lightning as pl
import torch
from torch import Tensor, nn

from objectives.encoder.model import Encoder
from objectives.identity import describe_objective, refuse_other_settings
from objectives.settings import SharedSettings
from objectives.training.divergence import Diverged
from objectives.training.flops import training_flops
from objectives.training.ledger import Ledger
from objectives.training.loss import summed_nll, target_nlls
from objectives.training.randomness import Key
from objectives.traits import Traits
from objectives.view import IGNORE, Batch, Predictions, View


class Objective(pl.LightningModule, ABC):
    """A training objective over the shared encoder; a subclass defines `views`, `nominal_density` and `traits`.

    The loss that is differentiated is the sum of token losses over a constant, the nominal number of targets of a
    batch, so every supervised token of an optimiser step weighs the same under accumulation and over ranks
    (Lightning averages micro-batches; pytorch-lightning#20350). Batches must be of equal size.

    A token is counted once, however many views read it; operations are counted for each view, which costs a body and a
    head of its own.

    Args:
        shared: the fields of SharedSettings. A subclass hands them on as `**shared`, and keeps arguments of its own
            under their names.
    """

    view_count: ClassVar[int] = 1
    """Number of views of a batch."""
    shared: SharedSettings
    """The settings that all objectives share."""

    def __init__(self, **shared: Any) -> None:
        super().__init__()
        self.shared = SharedSettings(**shared)
        self.vocabulary = self.shared.vocabulary
        self.encoder = Encoder(self.shared.encoder, self.vocabulary.size, self.shared.seed)
        self.ledger = Ledger()

    @property
    @abstractmethod
    def traits(self) -> Traits:
        """What the objective says of itself, by its own settings; it depends on no shared one."""

    @property
    @abstractmethod
    def nominal_density(self) -> float:
        """Targets of all views per token read, by the settings."""

    @abstractmethod
    def views(self, tokens_BT: Tensor, key: Key) -> tuple[View, ...]:
        """What is read and what is predicted, `view_count` times; a pure function of (tokens, key)."""

    def encode(self, view: View, tokens_BT: Tensor) -> Tensor:
        """Hidden states (B, T, D) of a view of clean `tokens_BT`."""
        return self.encoder(view.inputs_BT, view.attention, self.document_numbers(tokens_BT))

    def read(self, tokens_BT: Tensor) -> Tensor:
        """Hidden states (B, T, D) of clean tokens, under the attention of features."""
        return self.encoder(tokens_BT, self.traits.attention, self.document_numbers(tokens_BT))

    def document_numbers(self, tokens_BT: Tensor) -> Tensor | None:
        """Which document of its row each clean token belongs to, (B, T); None when all of the row is one.

        [CLS] starts a document, unless documents are joined; each padding token counts as a document, so that no other
        token sees it.
        """
        padding_BT = tokens_BT == self.vocabulary.pad
        if self.shared.documents == "separate":
            return ((tokens_BT == self.vocabulary.cls) | padding_BT).cumsum(1)
        return padding_BT.cumsum(1) if bool(padding_BT.any()) else None

    def tokens_per_step(self, batch_tokens: int) -> int:
        """Tokens that an optimiser step reads, over all micro-batches and ranks, in batches of `batch_tokens`."""
        return batch_tokens * self.trainer.accumulate_grad_batches * self.trainer.world_size

    def tokens_read(self, batch_tokens: int) -> int:
        """Tokens that all steps so far have read: what learning rate, stop, DONE, resumption and status go by."""
        return self.trainer.global_step * self.tokens_per_step(batch_tokens)

    def on_train_batch_start(self, batch: Batch, batch_idx: int) -> None:
        # The rate is a function of the step alone, so that a scheduler has no state to lose.
        batch_tokens = batch.tokens_BT.numel()
        tokens = self.tokens_read(batch_tokens) + self.tokens_per_step(batch_tokens)
        for optimizer in self.trainer.optimizers:
            for group in optimizer.param_groups:
                group["lr"] = self.shared.optimizer.rate(tokens, self.budget_tokens(batch.tokens_BT.shape[1]))

    def training_step(self, batch: Batch, batch_idx: int) -> Tensor:
        tokens_BT = batch.tokens_BT
        loss = tokens_BT.new_zeros((), dtype=torch.float32)
        views = self.views(tokens_BT, Key(self.shared.seed, batch.epoch_B, batch.index_B))
        if len(views) != self.view_count:
            raise ValueError(f"{type(self).__name__} makes {len(views)} views, but its view_count is {self.view_count}")
        for view in views:
            weighted, nats = self._loss(view, tokens_BT)
            loss = loss + weighted
            self._update_ledger(view, tokens_BT, nats)
        self.ledger.update(tokens=tokens_BT.numel())
        if self.shared.reduction == "mean":
            return loss / (tokens_BT.numel() * self.nominal_density)
        return loss * (self.trainer.accumulate_grad_batches * self.trainer.world_size)

    def _loss(self, view: View, tokens_BT: Tensor) -> tuple[Tensor, Tensor]:
        """Sum over a view's targets of weight times nats, and of nats alone."""
        targeted_BT = view.targets_BT != IGNORE
        features_ND = self.encoder.head(self.encode(view, tokens_BT)[targeted_BT])
        decoder = (self.encoder.embedding.weight, self.encoder.decoder_bias)
        targets_N = view.targets_BT[targeted_BT]
        if view.weights_BT is None:
            nats = summed_nll(features_ND, *decoder, targets_N)
            return nats, nats
        nats_N = target_nlls(features_ND, *decoder, targets_N)
        return (view.weights_BT[targeted_BT] * nats_N).sum(), nats_N.sum()

    def _update_ledger(self, view: View, tokens_BT: Tensor, nats: Tensor) -> None:
        changed_BT = view.inputs_BT != tokens_BT
        targets = (view.targets_BT != IGNORE).sum()
        self.ledger.update(
            selected=0 if view.selected_BT is None else view.selected_BT.sum(),
            corrupted=changed_BT.sum(),
            targets=targets,
            flops=training_flops(
                self.encoder.config, self.vocabulary.size, tokens_BT.shape[1], tokens_BT.numel(), targets
            ),
            nats=nats.detach().double(),
        )

    def budget_tokens(self, length: int) -> int:
        """The budget in tokens, for blocks of `length`."""
        per_token = training_flops(
            self.encoder.config, self.vocabulary.size, length, self.view_count, self.nominal_density
        )
        return self.shared.budget.in_tokens(per_token)

    def predict(self, view: View, tokens_BT: Tensor) -> Predictions:
        """What the model predicts at the target positions of a view of clean `tokens_BT`."""
        targeted_BT = view.targets_BT != IGNORE
        targets_N = view.targets_BT[targeted_BT]
        logits_NV = self.encoder.decode(self.encoder.head(self.encode(view, tokens_BT)[targeted_BT])).float()
        nats_N = -logits_NV.log_softmax(-1).gather(1, targets_N[:, None]).squeeze(1).double()
        return Predictions(
            targeted_BT, nats_N, logits_NV.argmax(-1) == targets_N, self.vocabulary.is_special(targets_N)
        )

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return self.shared.optimizer.build(self)

    def configure_gradient_clipping(self, optimizer: Any, *_: Any, **__: Any) -> None:
        """Clip the gradient of a step.

        Raises:
            Diverged: when its norm is not finite; the step is not taken.
        """
        norm = nn.utils.clip_grad_norm_(self.parameters(), self.shared.optimizer.gradient_clip or math.inf)
        # Mixed precision of 16 bits looks for overflow itself: it leaves the step out, and scales less.
        if self.trainer.precision != "16-mixed" and not bool(norm.isfinite()):
            raise Diverged(f"the norm of the gradient is {norm.item()}")

    def on_train_batch_end(self, outputs: Any, batch: Batch, batch_idx: int) -> None:
        if self.tokens_read(batch.tokens_BT.numel()) >= self.budget_tokens(batch.tokens_BT.shape[1]):
            self.trainer.should_stop = True

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        checkpoint["objective"] = describe_objective(self)
        checkpoint["ledger"] = self.ledger.compute()

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        refuse_other_settings(self, checkpoint)
        # The saved totals are those of all ranks; one rank carries them on.
        if self.global_rank == 0:
            self.ledger.restore(checkpoint["ledger"])
