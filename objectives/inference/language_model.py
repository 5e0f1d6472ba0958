"""A trained model as scoring, filling and generating see it: its special tokens, and logits where they are asked for.

R rows, T positions, N asked positions, V vocabulary.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from objectives.encoder.layer import Past

if TYPE_CHECKING:
    from objectives.base import Objective


class Reader(ABC):
    """No padding ever reaches a model, but where a causal one cannot see it: no row depends on its neighbours."""

    module: Any
    """The torch module that answers; its mode is the caller's."""
    causal: bool
    """True when each position sees only those to its left, and its logits are about the next token."""
    before: tuple[int, ...]
    """Special tokens in front of a sentence; empty where the model was trained without any."""
    after: tuple[int, ...]
    """Special tokens behind a sentence."""
    mask: int | None
    """The token that stands for a hidden one; None where the model knows none."""
    end: int | None
    """The token that says that a sentence ends."""
    specials: frozenset[int]
    """Tokens that text is never made of."""
    vocabulary_size: int
    max_length: int
    """Longest row, special tokens included."""

    @abstractmethod
    def logits(self, inputs_RT: Tensor, asked_RT: Tensor) -> Tensor:
        """Logits (N, V), float32, at the positions that are True in `asked_RT`, in the order of reading."""

    def continuation(self) -> Callable[[Tensor], Tensor]:
        """A function of the tokens (R, T) that come next, from the first one on, to the logits (R, V) behind them."""
        read: list[Tensor] = []

        def following(tokens_RT: Tensor) -> Tensor:
            read.append(tokens_RT)
            row_RT = torch.cat(read, dim=1)
            return self.logits(row_RT, at_last(row_RT))

        return following

    @property
    def room(self) -> int:
        """Longest sentence, without special tokens."""
        return self.max_length - len(self.before) - len(self.after)

    @property
    def device(self) -> torch.device:
        return next(self.module.parameters()).device

    @property
    def regular_V(self) -> Tensor:
        """True for each token that text can be made of, (V,)."""
        regular_V = torch.ones(self.vocabulary_size, dtype=torch.bool, device=self.device)
        regular_V[sorted(self.specials)] = False
        return regular_V


class ObjectiveReader(Reader):
    """An objective of this package, reading its own way."""

    def __init__(self, objective: Objective) -> None:
        vocabulary = objective.vocabulary
        self.module, self.encoder = objective, objective.encoder
        self.causal = objective.reading == "causal"
        self.before, self.after = (vocabulary.cls,), (vocabulary.sep,)
        self.mask, self.end = vocabulary.mask, vocabulary.sep
        self.specials = frozenset(vocabulary.specials)
        self.vocabulary_size, self.max_length = vocabulary.size, objective.encoder.config.max_length

    def logits(self, inputs_RT: Tensor, asked_RT: Tensor) -> Tensor:
        reading = self.module.reading
        if bool((asked_RT.sum(1) == 1).all()):  # then the last layer has most of its work to save
            asked_R1 = asked_RT.int().argmax(1, keepdim=True)
            return self._decode(self.encoder(inputs_RT, reading, asked_BK=asked_R1)[:, 0])
        return self._decode(self.encoder(inputs_RT, reading)[asked_RT])

    def continuation(self) -> Callable[[Tensor], Tensor]:
        """As of the base class; keys and values of what was read are kept."""
        pasts = [Past() for _ in self.encoder.layers]
        return lambda tokens_RT: self._decode(self.encoder.read_on(tokens_RT, pasts)[:, -1])

    def _decode(self, hidden: Tensor) -> Tensor:
        return self.encoder.decode(self.encoder.head(hidden)).float()


def at_last(rows_RT: Tensor) -> Tensor:
    """True at the last position of each row, (R, T)."""
    asked_RT = torch.zeros_like(rows_RT, dtype=torch.bool)
    asked_RT[:, -1] = True
    return asked_RT


@contextmanager
def answering(module: nn.Module) -> Iterator[None]:
    """Without gradients, in eval mode; afterwards the module is back in the mode it was in."""
    mode = module.training
    module.eval()
    try:
        with torch.inference_mode():
            yield
    finally:
        module.train(mode)
