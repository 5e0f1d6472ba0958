"""Prefix language modelling: the beginning of each document is read both ways, the rest predicted from left to right.

B blocks, T positions.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor

from objectives.base import Objective
from objectives.clm import next_token
from objectives.training.randomness import Key, uniform
from objectives.traits import Traits
from objectives.view import IGNORE, Past, View
from objectives.vocabulary import Vocabulary


class PrefixLM(Objective):
    """Next-token prediction behind a prefix that is read both ways (Dong et al. 2019; Raffel et al. 2020).

    Each document has a prefix of its own; of one that a block's edge cuts, each part has. Of a part of n tokens it
    takes 0 to floor(longest * n) of them, but never the last, all numbers being equally likely. Its tokens see one
    another besides everything to their left, so what follows is still predicted from the past alone: by the chain
    rule, of which a prefix of no tokens is the case that scores sentences.

    Args:
        longest: share of a document that the longest prefix takes.
        shared: the fields of SharedSettings.

    Raises:
        ValueError: when `longest` is outside (0, 1].
    """

    def __init__(self, longest: float = 1.0, **shared: Any) -> None:
        super().__init__(**shared)
        if not 0 < longest <= 1:
            raise ValueError(
                f"the longest prefix must be a share of a document in (0, 1], but is {longest}; without prefixes it is "
                f"CLM"
            )
        self.longest = longest

    @property
    def traits(self) -> Traits:
        return Traits(
            name=type(self).__name__,
            question=f"next token after a prefix of up to {100 * self.longest:g} % of a document",
            attention="bidirectional",
            scores=("chain_rule",),
            numeric={"longest prefix": self.longest},
        )

    def densities(self, spent: float) -> tuple[float, ...]:
        return (1 - self.longest / 2,)

    def views(self, tokens_BT: Tensor, key: Key) -> tuple[View, ...]:
        parts = DocumentParts.of(tokens_BT, self.vocabulary)
        draw_BT = uniform(key, "prefix", tokens_BT.shape[1]).gather(1, parts.start_BT)
        most_BT = (self.longest * parts.length_BT).floor().clamp(max=parts.length_BT - 1)
        prefix_BT = (draw_BT * (most_BT + 1)).floor()
        place_BT = torch.arange(tokens_BT.shape[1], device=tokens_BT.device) - parts.start_BT
        inside_BT = place_BT < prefix_BT
        same_BTT = parts.start_BT[:, :, None] == parts.start_BT[:, None, :]
        both_ways_BTT = same_BTT & inside_BT[:, :, None] & inside_BT[:, None, :]
        attention_BTT = both_ways_BTT | torch.ones_like(both_ways_BTT[0]).tril()
        # A position predicts the next token, which must not be in the prefix that it sees.
        targets_BT = next_token(tokens_BT, self.vocabulary).masked_fill(place_BT + 1 < prefix_BT, IGNORE)
        return (View(tokens_BT, targets_BT, attention_BTT[:, None], shift=1, channel=Past()),)


class DocumentParts(NamedTuple):
    """The documents of blocks, as far as they lie in them, whether attention crosses from one to the other or not."""

    start_BT: Tensor
    """Position at which the document of each token begins in the block; that of a padding token is its own."""
    length_BT: Tensor
    """Number of tokens of that document in the block."""

    @classmethod
    def of(cls, tokens_BT: Tensor, vocabulary: Vocabulary) -> DocumentParts:
        """[CLS] starts a document, and so does a block."""
        opens_BT = (tokens_BT == vocabulary.cls) | (tokens_BT == vocabulary.pad)
        start_BT = (opens_BT * torch.arange(tokens_BT.shape[1], device=tokens_BT.device)).cummax(1).values
        counts_BT = torch.zeros_like(start_BT).scatter_add(1, start_BT, torch.ones_like(start_BT))
        return cls(start_BT, counts_BT.gather(1, start_BT))
