"""The one abstraction: an objective turns clean tokens into views; everything else is shared.

B blocks, T positions, D width, N asked positions.
"""

from __future__ import annotations

import hashlib
import importlib
import inspect
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import asdict, is_dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple, get_type_hints

import pytorch_lightning as pl
import torch
from torch import Tensor, nn

from objectives.encoder import Attention, Encoder, EncoderConfig
from objectives.flops import training_flops
from objectives.ledger import Ledger, NegativeLogLikelihood
from objectives.loss import summed_nll
from objectives.randomness import Key, evaluation_key
from objectives.schedule import Budget, OptimizerConfig
from objectives.vocabulary import Vocabulary

IGNORE = -100
"""Target of a position that is not asked."""


class Batch(NamedTuple):
    """Blocks of clean tokens, with the pass over the data and the index of each block; all int64."""

    tokens_BT: Tensor
    epoch_B: Tensor
    index_B: Tensor


class View(NamedTuple):
    """What is read, what is asked, who sees whom."""

    inputs_BT: Tensor
    """Token ids that the encoder reads."""
    targets_BT: Tensor
    """Token id asked at each position; IGNORE where nothing is."""
    attention: Attention
    """"causal", "bidirectional", or a boolean mask (B, 1, T, T), True where row sees column."""
    selected_BT: Tensor | None = None
    """True at positions chosen for corruption, changed or kept; None where the objective corrupts nothing."""
    weight: float = 1.0
    """Weight of this view's targets in the loss."""


class Answers(NamedTuple):
    """A model's answers to the N asked positions of a view, in the order of the view."""

    asked_BT: Tensor
    nats_N: Tensor
    """−log p of the target, float64."""
    correct_N: Tensor
    """True where the most probable token is the target."""
    special_N: Tensor
    """True where the target is a special token."""


class Objective(pl.LightningModule, ABC):
    """A training objective over the shared encoder; a subclass says `views` and `nominal_density`.

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
        self.held_out = NegativeLogLikelihood(vocabulary.characters_per_token)

    reading: ClassVar[Literal["causal", "bidirectional"]]
    """Who sees whom when a trained model of this objective reads plain text, as for frozen features."""

    @property
    @abstractmethod
    def nominal_density(self) -> float:
        """Targets per token read, as configured."""

    @abstractmethod
    def views(self, tokens_BT: Tensor, key: Key) -> tuple[View, ...]:
        """What is read and asked; a pure function of (tokens, key)."""

    @abstractmethod
    def score(self, sentences: Sequence[Sequence[int]]) -> list[list[float]]:
        """How probable sentences are to this model: nats of each token, by the objective's own kind of score."""

    def encode(self, view: View, tokens_BT: Tensor) -> Tensor:
        """Hidden states (B, T, D) of a view of clean `tokens_BT`."""
        return self.encoder(view.inputs_BT, view.attention, self.document_numbers(tokens_BT))

    def read(self, tokens_BT: Tensor, inputs_BT: Tensor | None = None) -> Tensor:
        """Hidden states (B, T, D) of clean tokens read plainly, or of `inputs_BT` shown in their place."""
        inputs_BT = tokens_BT if inputs_BT is None else inputs_BT
        return self.encoder(inputs_BT, self.reading, self.document_numbers(tokens_BT))

    def document_numbers(self, tokens_BT: Tensor) -> Tensor | None:
        """Which document of its row each clean token belongs to, (B, T); None when all of the row is one.

        [CLS] opens a document unless they are joined; padding counts as documents of its own, so nobody sees it.
        """
        padding_BT = tokens_BT == self.vocabulary.pad
        if self.documents == "separate":
            return ((tokens_BT == self.vocabulary.cls) | padding_BT).cumsum(1)
        return padding_BT.cumsum(1) if bool(padding_BT.any()) else None

    def on_train_batch_start(self, batch: Batch, batch_idx: int) -> None:
        self._length = batch.tokens_BT.shape[1]
        micro_batches = self.trainer.accumulate_grad_batches * self.trainer.world_size
        self._tokens_per_step = batch.tokens_BT.numel() * micro_batches

    def training_step(self, batch: Batch, batch_idx: int) -> Tensor:
        tokens_BT = batch.tokens_BT
        loss = tokens_BT.new_zeros((), dtype=torch.float32)
        for view in self.views(tokens_BT, Key(self.seed, batch.epoch_B, batch.index_B)):
            asked_BT = view.targets_BT != IGNORE
            features_ND = self.encoder.head(self.encode(view, tokens_BT)[asked_BT])
            nats = summed_nll(
                features_ND,
                self.encoder.embedding.weight,
                self.encoder.decoder_bias,
                view.targets_BT[asked_BT],
            )
            loss = loss + view.weight * nats
            self._account(view, tokens_BT, asked_BT, nats)
        if self.reduction == "mean":
            return loss / (tokens_BT.numel() * self.nominal_density)
        return loss * (self.trainer.accumulate_grad_batches * self.trainer.world_size)

    def _account(self, view: View, tokens_BT: Tensor, asked_BT: Tensor, nats: Tensor) -> None:
        changed_BT = view.inputs_BT != tokens_BT
        supervised = asked_BT.sum()
        self.ledger.update(
            tokens=tokens_BT.numel(),
            selected=0 if view.selected_BT is None else view.selected_BT.sum(),
            corrupted=changed_BT.sum(),
            supervised=supervised,
            flops=self.flops(tokens_BT.shape[1], tokens_BT.numel(), supervised),
            nats=nats.detach().double(),
        )

    def flops(self, length: int, tokens: float, targets: Any) -> Any:
        """Training operations for `tokens` read in blocks of `length` and `targets` asked."""
        return training_flops(self.encoder.config, self.vocabulary.size, length, tokens, targets)

    def budget_tokens(self, length: int) -> int:
        """The budget in tokens, for blocks of `length`."""
        return self.budget.in_tokens(self.flops(length, 1, self.nominal_density))

    def validation_step(self, batch: Batch, batch_idx: int) -> None:
        for view in self.views(batch.tokens_BT, evaluation_key(batch.index_B)):
            self.held_out.update(self.answer(view, batch.tokens_BT))

    test_step = validation_step

    def on_validation_epoch_end(self) -> None:
        self.log_dict({f"held_out/{name}": value for name, value in self.held_out.compute().items()})
        self.held_out.reset()

    on_test_epoch_end = on_validation_epoch_end

    def answer(self, view: View, tokens_BT: Tensor) -> Answers:
        """What the model says to a view of clean `tokens_BT`, at the asked positions."""
        asked_BT = view.targets_BT != IGNORE
        targets_N = view.targets_BT[asked_BT]
        logits_NV = self.encoder.decode(self.encoder.head(self.encode(view, tokens_BT)[asked_BT])).float()
        nats_N = -logits_NV.log_softmax(-1).gather(1, targets_N[:, None]).squeeze(1).double()
        return Answers(asked_BT, nats_N, logits_NV.argmax(-1) == targets_N, self.vocabulary.is_special(targets_N))

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return self.optimizer.build(self)

    def on_before_optimizer_step(self, optimizer: torch.optim.Optimizer) -> None:
        # The rate is a function of the step alone, so that there is no scheduler's state to lose.
        tokens = (self.trainer.global_step + 1) * self._tokens_per_step
        for group in optimizer.param_groups:
            group["lr"] = self.optimizer.rate(tokens, self.budget_tokens(self._length))

    def configure_gradient_clipping(self, optimizer: Any, *_: Any, **__: Any) -> None:
        if self.optimizer.gradient_clip:
            nn.utils.clip_grad_norm_(self.parameters(), self.optimizer.gradient_clip)

    def on_train_batch_end(self, outputs: Any, batch: Batch, batch_idx: int) -> None:
        if self.trainer.global_step * self._tokens_per_step >= self.budget_tokens(self._length):
            self.trainer.should_stop = True

    def arguments(self) -> dict[str, Any]:
        """The constructor's arguments as plain values; each is kept under its own name."""
        kept = {name: getattr(self, name) for name in inspect.signature(type(self)).parameters}
        kept["encoder"] = self.encoder.config
        return {
            name: asdict(value) if is_dataclass(value) and not isinstance(value, type) else value
            for name, value in kept.items()
        }

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        checkpoint["objective"] = {"class_path": class_path(type(self)), "arguments": self.arguments()}
        checkpoint["ledger"] = self.ledger.compute()

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        # The saved totals are those of all ranks; one rank carries them on.
        if self.global_rank == 0:
            self.ledger.restore(checkpoint["ledger"])


def import_object(path: str) -> Any:
    """What a dotted path names."""
    module, _, name = path.rpartition(".")
    return getattr(importlib.import_module(module), name)


def build_arguments(cls: type, plain: dict[str, Any]) -> dict[str, Any]:
    """Constructor arguments from plain values: mappings become the configuration class that the constructor names.

    Raises:
        ValueError: when a configuration refuses its values.
    """
    hints = get_type_hints(cls.__init__)  # type: ignore[misc]
    return {
        name: hints[name](**value) if isinstance(value, dict) and is_dataclass(hints[name]) else value
        for name, value in plain.items()
    }


def class_path(cls: type) -> str:
    """The dotted path that imports a class."""
    return f"{cls.__module__}.{cls.__qualname__}"


def load(path: str | Path) -> Objective:
    """The objective saved in a checkpoint or snapshot, with its weights, in eval mode on the CPU.

    Raises:
        ValueError: when the file is no checkpoint of an objective.
    """
    try:
        checkpoint = torch.load(path, map_location="cpu", weights_only=True)
        cls = import_object(checkpoint["objective"]["class_path"])
        arguments = build_arguments(cls, checkpoint["objective"]["arguments"])
    except FileNotFoundError:
        raise ValueError(f"no checkpoint at {path}") from None
    except Exception as error:
        raise ValueError(f"{path} is no checkpoint of an objective, or is damaged ({error})") from error
    objective: Objective = cls(**arguments)
    objective.load_state_dict(checkpoint["state_dict"])
    return objective.eval()


def state_hash(module: nn.Module) -> str:
    """sha256 over the names and bytes of a module's state."""
    digest = hashlib.sha256()
    for name, value in sorted(module.state_dict().items()):
        digest.update(f"{name} {value.dtype} {tuple(value.shape)}".encode())
        digest.update(value.detach().cpu().contiguous().view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()
