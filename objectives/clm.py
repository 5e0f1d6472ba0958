"""Causal language modelling: every token is predicted from those to its left.

B blocks, T positions.
"""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor

from objectives.base import Objective
from objectives.training.randomness import Key
from objectives.traits import Traits
from objectives.view import IGNORE, Past, View
from objectives.vocabulary import Vocabulary


class CLM(Objective):
    """Dense next-token prediction: log p(x) = sum over t of log p(x_t | x_<t), a true joint probability."""

    @property
    def traits(self) -> Traits:
        return Traits(
            name=type(self).__name__,
            question="next token",
            attention="causal",
            scores=("chain_rule",),
            huggingface="ModernBertDecoderForCausalLM",
        )

    def densities(self, spent: float) -> tuple[float, ...]:
        return (1.0,)

    def views(self, tokens_BT: Tensor, key: Key) -> tuple[View, ...]:
        return (causal(tokens_BT, self.vocabulary),)


def causal(tokens_BT: Tensor, vocabulary: Vocabulary) -> View:
    """The view of CLM: clean tokens, and at each position the next one as target."""
    return View(tokens_BT, next_token(tokens_BT, vocabulary), "causal", shift=1, channel=Past())


def next_token(tokens_BT: Tensor, vocabulary: Vocabulary) -> Tensor:
    """The targets of CLM, and the one place where they are shifted.

    A position has no target when it is the last of its block, or when [CLS] (a document does not predict the next
    one) or padding follows.
    """
    following_BT = F.pad(tokens_BT[:, 1:], (0, 1), value=IGNORE)
    return following_BT.masked_fill((following_BT == vocabulary.cls) | (following_BT == vocabulary.pad), IGNORE)
