"""What scoring, filling and generation need of a trained model: special tokens, and logits at target positions.

R rows, T positions, N target positions, V vocabulary.
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
from objectives.encoder.targets import TargetPositions


class LanguageModel(ABC):
    """A trained model. No padding reaches it, except where a causal model does not look: no row depends on another."""

    module: Any
    """The torch module; the caller sets its mode, see `inference_mode`."""
    causal: bool
    """True when each position sees only those to its left, and its logits predict the next token."""
    bos: tuple[int, ...]
    """Special tokens put before a sentence; empty when the model was trained without any."""
    eos: tuple[int, ...]
    """Special tokens put after a sentence."""
    mask: int | None
    """Id of the mask token; None when there is none."""
    end_of_text: int | None
    """Id of the token that ends a sentence; None when there is none."""
    specials: frozenset[int]
    """Ids that stand for no text: those of special tokens, and those that no token has."""
    vocabulary_size: int
    max_length: int
    """Length of the longest row, special tokens included."""

    @abstractmethod
    def logits(self, inputs_RT: Tensor, targeted_RT: Tensor) -> Tensor:
        """Logits (N, V), float32, for the positions that are True in `targeted_RT`, row by row: for the token after
        each of a causal model, for the token under each of a masked one."""

    def continuation(self) -> Callable[[Tensor], Tensor]:
        """A function that appends tokens (R, T) to rows, empty at first, and returns the logits (R, V) of the next."""
        parts: list[Tensor] = []

        def extend(tokens_RT: Tensor) -> Tensor:
            parts.append(tokens_RT)
            rows_RT = torch.cat(parts, dim=1)
            return self.logits(rows_RT, at_last_position(rows_RT))

        return extend

    @property
    def methods(self) -> tuple[str, ...]:
        """The methods of `objectives.inference.scoring` that it offers, the default first."""
        return ("chain_rule",) if self.causal else ("pll", "pll_word_l2r")

    def reading_for(self, method: str) -> LanguageModel:
        """The model as it reads for one of `methods`."""
        return self

    @property
    def max_tokens(self) -> int:
        """Length of the longest sentence, special tokens not counted."""
        return self.max_length - len(self.bos) - len(self.eos)

    @property
    def device(self) -> torch.device:
        return next(self.module.parameters()).device

    @property
    def regular_V(self) -> Tensor:
        """True for each id that stands for text, (V,)."""
        regular_V = torch.ones(self.vocabulary_size, dtype=torch.bool, device=self.device)
        regular_V[sorted(self.specials)] = False
        return regular_V


class ObjectiveLanguageModel(LanguageModel):
    """A trained objective, which reads as one of the sentence scores that it offers needs, the first when None.

    Raises:
        ValueError: when it offers no such score.
    """

    def __init__(self, objective: Objective, method: str | None = None) -> None:
        offered = objective.traits.scores
        if not offered:
            raise ValueError(
                f"{objective.traits.name} offers no sentence scores: it says nothing of how probable a text is, and so "
                f"cannot score, fill or generate"
            )
        if method is not None and method not in offered:
            raise ValueError(f"{objective.traits.name} cannot be scored by {method}; use {' or '.join(offered)}")
        vocabulary = objective.vocabulary
        self.module, self.encoder = objective, objective.encoder
        self.causal = (method or offered[0]) == "chain_rule"
        self.mask_shift = objective.traits.mask_shift
        self.bos, self.eos = (vocabulary.cls,), (vocabulary.sep,)
        self.mask, self.end_of_text = vocabulary.mask, vocabulary.sep
        self.specials = frozenset((*vocabulary.specials, *vocabulary.unused))
        self.vocabulary_size, self.max_length = vocabulary.size, objective.encoder.config.max_length

    @property
    def methods(self) -> tuple[str, ...]:
        return self.module.traits.scores

    def reading_for(self, method: str) -> LanguageModel:
        return ObjectiveLanguageModel(self.module, method)

    def logits(self, inputs_RT: Tensor, targeted_RT: Tensor) -> Tensor:
        attention: Attention = "causal" if self.causal else "bidirectional"
        if not self.causal:  # no row begins with a masked token, so none has its prediction outside of its row
            targeted_RT = targeted_RT.roll(-self.mask_shift, dims=1)
        return self._decode(self.encoder(inputs_RT, attention, targets=TargetPositions.of(targeted_RT)))

    def continuation(self) -> Callable[[Tensor], Tensor]:
        """As in the base class, with cached keys and values."""
        caches = [KVCache() for _ in self.encoder.layers]
        return lambda tokens_RT: self._decode(self.encoder.forward_cached(tokens_RT, caches)[:, -1])

    def _decode(self, hidden: Tensor) -> Tensor:
        return self.encoder.decode(self.encoder.head(hidden)).float()


def at_last_position(rows_RT: Tensor) -> Tensor:
    """True at the last position of each row, (R, T)."""
    targeted_RT = torch.zeros_like(rows_RT, dtype=torch.bool)
    targeted_RT[:, -1] = True
    return targeted_RT


@contextmanager
def inference_mode(module: nn.Module) -> Iterator[None]:
    """Without gradients and in eval mode; restores the mode of the module afterwards."""
    mode = module.training
    module.eval()
    try:
        with torch.inference_mode():
            yield
    finally:
        module.train(mode)
