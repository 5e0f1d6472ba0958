"""Masked language modelling: selected tokens are corrupted, and predicted from both sides.

B blocks, T positions.
"""

from __future__ import annotations

from typing import Any

from torch import Tensor

from objectives.base import Objective
from objectives.corruption import Corruption
from objectives.training.randomness import Key
from objectives.traits import Traits
from objectives.view import IGNORE, View
from objectives.vocabulary import Vocabulary


class MLM(Objective):
    """BERT's masked language model (Devlin et al. 2019): the loss is over the selected positions only.

    It defines no joint probability; sentences are scored by the pseudo-log-likelihood instead.

    Args:
        corruption: which positions are selected, and what replaces their tokens.
        shared: the fields of SharedSettings.
    """

    def __init__(self, corruption: Corruption, **shared: Any) -> None:
        super().__init__(**shared)
        self.corruption = corruption

    @property
    def traits(self) -> Traits:
        return Traits(
            name=type(self).__name__,
            question=f"masked tokens ({self.corruption.name})",
            attention="bidirectional",
            scores=("pll", "pll_word_l2r"),
            huggingface="ModernBertForMaskedLM",
            numeric={"mask rate": self.corruption.rate},
            categorical={
                "corruption mix": self.corruption.replacement.name,
                "selection": self.corruption.selection.name,
            },
        )

    @property
    def densities(self) -> tuple[float, ...]:
        return (self.corruption.rate,)

    def views(self, tokens_BT: Tensor, key: Key) -> tuple[View, ...]:
        return (cloze(tokens_BT, key, self.corruption, self.vocabulary),)


def cloze(tokens_BT: Tensor, key: Key, corruption: Corruption, vocabulary: Vocabulary) -> View:
    """The view of MLM: corrupted tokens, and the clean ones as targets at the selected positions."""
    inputs_BT, selected_BT = corruption(tokens_BT, key, vocabulary)
    return View(
        inputs_BT, tokens_BT.masked_fill(~selected_BT, IGNORE), "bidirectional", selected_BT, channel=corruption
    )
