"""The one abstraction: an objective turns clean tokens into views; everything else is shared.

B blocks, T positions, D width, N target positions.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import pytorch_lightning as pl
import torch
from torch import Tensor, nn

from objectives.encoder.config import EncoderConfig
from objectives.encoder.model import Encoder
from objectives.identity import describe_objective, refuse_other_settings, state_hash
from objectives.training.flops import training_flops
from objectives.training.ledger import Ledger
from objectives.training.loss import summed_nll
from objectives.training.optimizer import Budget, OptimizerConfig
from objectives.training.randomness import Key
from objectives.view import IGNORE, Batch, Predictions, View
from objectives.vocabulary import Vocabulary


class Objective(pl.LightningModule, ABC):
    """A training objective over the shared encoder; a subclass defines `views`, `nominal_density` and its attributes.

    The loss that is differentiated is the sum of token losses over a constant, the nominal number of targets of a
    batch, so every supervised token of an optimiser step weighs the same under accumulation and over ranks
    (Lightning averages micro-batches; pytorch-lightning#20350). Batches must be of equal size.

    Args:
        encoder: geometry of the encoder.
        vocabulary: sizes and special ids, from the tokenizer of the data.
        budget: how long to train.
        optimizer: AdamW and its schedule.
        reduction: mean divides the summed loss of an optimiser step by its nominal number of targets; sum does not.
        documents: separate lets each token see its own document only and restarts positions there; joined lets
            attention cross documents inside a block.
        seed: of the initial weights and of every draw of the objective.
    """

    feature_attention: ClassVar[Literal["causal", "bidirectional"]]
    """The attention under which a trained encoder reads clean text."""
    sentence_scores: ClassVar[tuple[str, ...]]
    """The methods of `objectives.inference.scoring` by which a trained model scores sentences, the default first."""
    huggingface_class: ClassVar[str | None] = None
    """The class of `transformers` with the same architecture and task; None if there is none."""

    def __init__(
        self,
        encoder: EncoderConfig,
        vocabulary: Vocabulary,
        budget: Budget,
        optimizer: OptimizerConfig,
        reduction: Literal["mean", "sum"] = "mean",
        documents: Literal["separate", "joined"] = "separate",
        seed: int = 0,
    ) -> None:
        super().__init__()
        if reduction not in ("mean", "sum") or documents not in ("separate", "joined"):
            raise ValueError(f"reduction is mean or sum, documents separate or joined: {reduction!r}, {documents!r}")
        self.encoder = Encoder(encoder, vocabulary.size, seed)
        self.initial_hash = state_hash(self.encoder)
        self.vocabulary, self.budget, self.optimizer = vocabulary, budget, optimizer
        self.reduction, self.documents, self.seed = reduction, documents, seed
        self.ledger = Ledger()

    @classmethod
    def traits(cls, settings: Mapping[str, Any]) -> dict[str, Any]:
        """What the records say of this objective: its name, its attention, and its own factors.

        Args:
            settings: the constructor's arguments.
        """
        return {"objective": cls.__name__, "attention": cls.feature_attention}

    @property
    @abstractmethod
    def nominal_density(self) -> float:
        """Targets per token read, by the settings."""

    @abstractmethod
    def views(self, tokens_BT: Tensor, key: Key) -> tuple[View, ...]:
        """What is read and what is predicted; a pure function of (tokens, key)."""

    def encode(self, view: View, tokens_BT: Tensor) -> Tensor:
        """Hidden states (B, T, D) of a view of clean `tokens_BT`."""
        return self.encoder(view.inputs_BT, view.attention, self.document_numbers(tokens_BT))

    def read(self, tokens_BT: Tensor) -> Tensor:
        """Hidden states (B, T, D) of clean tokens, under `feature_attention`."""
        return self.encoder(tokens_BT, self.feature_attention, self.document_numbers(tokens_BT))

    def document_numbers(self, tokens_BT: Tensor) -> Tensor | None:
        """Which document of its row each clean token belongs to, (B, T); None when all of the row is one.

        [CLS] starts a document, unless documents are joined; each padding token counts as a document, so that no other
        token sees it.
        """
        padding_BT = tokens_BT == self.vocabulary.pad
        if self.documents == "separate":
            return ((tokens_BT == self.vocabulary.cls) | padding_BT).cumsum(1)
        return padding_BT.cumsum(1) if bool(padding_BT.any()) else None

    def tokens_per_step(self, batch: Batch) -> int:
        """Tokens that an optimiser step of such batches reads, over all micro-batches and ranks."""
        return batch.tokens_BT.numel() * self.trainer.accumulate_grad_batches * self.trainer.world_size

    def on_train_batch_start(self, batch: Batch, batch_idx: int) -> None:
        # The rate is a function of the step alone, so that a scheduler has no state to lose.
        tokens = (self.trainer.global_step + 1) * self.tokens_per_step(batch)
        for optimizer in self.trainer.optimizers:
            for group in optimizer.param_groups:
                group["lr"] = self.optimizer.rate(tokens, self.budget_tokens(batch.tokens_BT.shape[1]))

    def training_step(self, batch: Batch, batch_idx: int) -> Tensor:
        tokens_BT = batch.tokens_BT
        loss = tokens_BT.new_zeros((), dtype=torch.float32)
        for view in self.views(tokens_BT, Key(self.seed, batch.epoch_B, batch.index_B)):
            targeted_BT = view.targets_BT != IGNORE
            features_ND = self.encoder.head(self.encode(view, tokens_BT)[targeted_BT])
            nats = summed_nll(
                features_ND,
                self.encoder.embedding.weight,
                self.encoder.decoder_bias,
                view.targets_BT[targeted_BT],
            )
            loss = loss + view.weight * nats
            self._update_ledger(view, tokens_BT, targeted_BT, nats)
        if self.reduction == "mean":
            return loss / (tokens_BT.numel() * self.nominal_density)
        return loss * (self.trainer.accumulate_grad_batches * self.trainer.world_size)

    def _update_ledger(self, view: View, tokens_BT: Tensor, targeted_BT: Tensor, nats: Tensor) -> None:
        changed_BT = view.inputs_BT != tokens_BT
        targets = targeted_BT.sum()
        self.ledger.update(
            tokens=tokens_BT.numel(),
            selected=0 if view.selected_BT is None else view.selected_BT.sum(),
            corrupted=changed_BT.sum(),
            targets=targets,
            flops=self.flops(tokens_BT.shape[1], tokens_BT.numel(), targets),
            nats=nats.detach().double(),
        )

    def flops(self, length: int, tokens: float, targets: Any) -> Any:
        """Training operations for `tokens` read in blocks of `length` and `targets` predicted."""
        return training_flops(self.encoder.config, self.vocabulary.size, length, tokens, targets)

    def budget_tokens(self, length: int) -> int:
        """The budget in tokens, for blocks of `length`."""
        return self.budget.in_tokens(self.flops(length, 1, self.nominal_density))

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
        return self.optimizer.build(self)

    def configure_gradient_clipping(self, optimizer: Any, *_: Any, **__: Any) -> None:
        if self.optimizer.gradient_clip:
            nn.utils.clip_grad_norm_(self.parameters(), self.optimizer.gradient_clip)

    def on_train_batch_end(self, outputs: Any, batch: Batch, batch_idx: int) -> None:
        if self.trainer.global_step * self.tokens_per_step(batch) >= self.budget_tokens(batch.tokens_BT.shape[1]):
            self.trainer.should_stop = True

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        checkpoint["objective"] = describe_objective(self)
        checkpoint["ledger"] = self.ledger.compute()

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        refuse_other_settings(self, checkpoint)
        # The saved totals are those of all ranks; one rank carries them on.
        if self.global_rank == 0:
            self.ledger.restore(checkpoint["ledger"])
