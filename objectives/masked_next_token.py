"""Masked next-token prediction: selected tokens are corrupted, and each is predicted at the position before it.

B blocks, T positions.
"""

from __future__ import annotations

from typing import Any

from torch import Tensor

from objectives.base import Objective
from objectives.corruption import Corruption
from objectives.mlm import at_earlier_positions, cloze, masking_choices, masking_rates
from objectives.training.randomness import Key
from objectives.traits import Traits
from objectives.view import View
from objectives.vocabulary import Vocabulary


class MaskedNextToken(Objective):
    """MLM with the shift of CLM (MNTP; BehnamGhader et al. 2024, LLM2Vec; Charpentier & Samuel 2024, GPT-BERT).

    A selected token that comes first in its block has no position before it: it is corrupted and counted as selected,
    but is no target. [CLS], with which documents start, is never selected, so the position before a target is always of
    its own document.

    Args:
        corruption: which positions are selected, and what replaces their tokens.
        shared: the fields of SharedSettings.
    """

    def __init__(self, corruption: Corruption, **shared: Any) -> None:
        super().__init__(**shared)
        self.corruption = corruption

    @property
    def traits(self) -> Traits:
        # No huggingface: a stock masked model predicts a token where it stands, a stock causal one reads one way.
        return Traits(
            name=type(self).__name__,
            question=f"masked tokens at the position before ({self.corruption.name})",
            attention="bidirectional",
            scores=("pll", "pll_word_l2r"),
            mask_shift=1,
            numeric=masking_rates(self.corruption),
            categorical=masking_choices(self.corruption),
        )

    @property
    def switches(self) -> tuple[float, ...]:
        return self.corruption.rates.switches

    def densities(self, spent: float) -> tuple[float, ...]:
        return (self.corruption.rates.mean(spent),)

    def views(self, tokens_BT: Tensor, key: Key) -> tuple[View, ...]:
        return (masked_next_token(tokens_BT, key, self.corruption, self.vocabulary),)


def masked_next_token(tokens_BT: Tensor, key: Key, corruption: Corruption, vocabulary: Vocabulary) -> View:
    """The view of MLM, with each target at the position before its token."""
    return at_earlier_positions(cloze(tokens_BT, key, corruption, vocabulary), 1)
