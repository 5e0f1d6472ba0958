"""Which positions of a block are selected for corruption; one small class for each way, named by class path.

B blocks, T positions.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import torch
from torch import Tensor

from objectives.training.randomness import Key, uniform
from objectives.vocabulary import Vocabulary


class Selection(ABC):
    """A way to select a share of the positions; a subclass is a frozen dataclass, its fields are its settings."""

    @property
    def name(self) -> str:
        """What the records call it."""
        return type(self).__name__

    @abstractmethod
    def __call__(self, tokens_BT: Tensor, rate_B1: Tensor, key: Key, vocabulary: Vocabulary) -> Tensor:
        """True at the selected positions: of the regular tokens of a block about the share `rate_B1` (float64), of the
        special ones none.

        A pure function; what is drawn for a block depends neither on the other blocks nor on their order.
        """


@dataclass(frozen=True)
class Bernoulli(Selection):
    """Each regular position with the probability of its block's rate, independently of the others."""

    def __call__(self, tokens_BT: Tensor, rate_B1: Tensor, key: Key, vocabulary: Vocabulary) -> Tensor:
        return ~vocabulary.is_special(tokens_BT) & (uniform(key, "selection", tokens_BT.shape[1]) < rate_B1)


@dataclass(frozen=True)
class ExactCount(Selection):
    """Of the n regular positions of a block exactly floor(rate * n + 1/2), a uniform subset; it may be empty."""

    def __call__(self, tokens_BT: Tensor, rate_B1: Tensor, key: Key, vocabulary: Vocabulary) -> Tensor:
        regular_BT = ~vocabulary.is_special(tokens_BT)
        draw_BT = uniform(key, "selection", tokens_BT.shape[1])
        count_B1 = torch.floor(rate_B1 * regular_BT.sum(1, keepdim=True, dtype=torch.float64) + 0.5)
        order_BT = draw_BT.masked_fill(~regular_BT, 2.0).argsort(dim=1, stable=True).argsort(dim=1)
        return regular_BT & (order_BT < count_B1)


@dataclass(frozen=True)
class Words(Selection):
    """Each word with the probability of its block's rate, independently of the others, and all of its tokens at once
    (whole-word masking, Cui et al. 2021). Where words begin, the data says.

    Raises:
        ValueError: when the data knows no words.
    """

    def __call__(self, tokens_BT: Tensor, rate_B1: Tensor, key: Key, vocabulary: Vocabulary) -> Tensor:
        if key.word_starts_BT is None:
            raise ValueError(
                "whole words cannot be selected: the data knows no words, because its tokens stand for no text or its "
                "tokenizer does not tell where words begin; take another selection, such as Spans or Bernoulli"
            )
        word_BT = key.word_starts_BT.cumsum(1)
        draw_BT = uniform(key, "selection", tokens_BT.shape[1] + 1).gather(1, word_BT)
        return ~vocabulary.is_special(tokens_BT) & (draw_BT < rate_B1)
