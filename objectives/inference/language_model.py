"""A trained model as scoring, filling and generating see it: its special tokens, and logits where they are asked for.

R rows, T positions, N asked positions, V vocabulary.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from objectives.base import Objective
from objectives.encoder.layer import KVCache
from objectives.encoder.model import Attention


class LanguageModel(ABC):
    """No padding ever reaches a model, but where a causal one cannot see it: no row depends on its neighbours."""

    module: Any
    """The torch module that predictions; its mode is the caller's."""
    causal: bool
    """True when each position sees only those to its left, and its logits are about the next token."""
    bos: tuple[int, ...]
    """Special tokens in front of a sentence; empty where the model was trained without any."""
    eos: tuple[int, ...]
    """Special tokens behind a sentence."""
    mask: int | None
    """The token that stands for a hidden one; None where the model knows none."""
    end_of_text: int | None
    """The token that says that a sentence ends."""
    specials: frozenset[int]
    """Tokens that text is never made of."""
    vocabulary_size: int
    max_length: int
    """Longest row, special tokens included."""

    @abstractmethod
    def logits(self, inputs_RT: Tensor, targeted_RT: Tensor) -> Tensor:
        """Logits (N, V), float32, at the positions that are True in `targeted_RT`, in the order of reading."""

    def continuation(self) -> Callable[[Tensor], Tensor]:
        """A function of the tokens (R, T) that come next, from the first one on, to the logits (R, V) behind them."""
        read: list[Tensor] = []

        def following(tokens_RT: Tensor) -> Tensor:
            read.append(tokens_RT)
            row_RT = torch.cat(read, dim=1)
            return self.logits(row_RT, at_last_position(row_RT))

        return following

    @property
    def max_tokens(self) -> int:
        """Longest sentence, without special tokens."""
        return self.max_length - len(self.bos) - len(self.eos)

    @property
    def device(self) -> torch.device:
        return next(self.module.parameters()).device

    @property
    def regular_V(self) -> Tensor:
        """True for each token that text can be made of, (V,)."""
        regular_V = torch.ones(self.vocabulary_size, dtype=torch.bool, device=self.device)
        regular_V[sorted(self.specials)] = False
        return regular_V


class ObjectiveLanguageModel(LanguageModel):
    """An objective of this package, reading its own way."""

    def __init__(self, objective: Objective) -> None:
        vocabulary = objective.vocabulary
        self.module, self.encoder = objective, objective.encoder
        self.causal = "chain_rule" in objective.sentence_scores
        self.bos, self.eos = (vocabulary.cls,), (vocabulary.sep,)
        self.mask, self.end_of_text = vocabulary.mask, vocabulary.sep
        self.specials = frozenset(vocabulary.specials)
        self.vocabulary_size, self.max_length = vocabulary.size, objective.encoder.config.max_length

    def logits(self, inputs_RT: Tensor, targeted_RT: Tensor) -> Tensor:
        attention: Attention = "causal" if self.causal else "bidirectional"
        if bool((targeted_RT.sum(1) == 1).all()):  # then the last layer has most of its work to save
            positions_R1 = targeted_RT.int().argmax(1, keepdim=True)
            return self._decode(self.encoder(inputs_RT, attention, positions_BK=positions_R1)[:, 0])
        return self._decode(self.encoder(inputs_RT, attention)[targeted_RT])

    def continuation(self) -> Callable[[Tensor], Tensor]:
        """As of the base class; keys and values of what was read are kept."""
        caches = [KVCache() for _ in self.encoder.layers]
        return lambda tokens_RT: self._decode(self.encoder.extend(tokens_RT, caches)[:, -1])

    def _decode(self, hidden: Tensor) -> Tensor:
        return self.encoder.decode(self.encoder.head(hidden)).float()


def at_last_position(rows_RT: Tensor) -> Tensor:
    """True at the last position of each row, (R, T)."""
    targeted_RT = torch.zeros_like(rows_RT, dtype=torch.bool)
    targeted_RT[:, -1] = True
    return targeted_RT


@contextmanager
def inference_mode(module: nn.Module) -> Iterator[None]:
    """Without gradients, in eval mode; afterwards the module is back in the mode it was in."""
    mode = module.training
    module.eval()
    try:
        with torch.inference_mode():
            yield
    finally:
        module.train(mode)
