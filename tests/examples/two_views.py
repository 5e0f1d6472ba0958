"""Causal and masked language modelling of each batch, with one encoder.

B blocks, T positions.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from objectives import Corruption, Key, Objective, Traits, View
from objectives.clm import causal
from objectives.mlm import cloze


class TwoViews(Objective):
    """Each block is read twice: as CLM with weight 1, and as MLM with another.

    Args:
        corruption: that of the masked view.
        weight: of the masked view's targets; those of the causal one have weight 1.
        shared: the fields of SharedSettings.
    """

    def __init__(self, corruption: Corruption, weight: float = 0.5, **shared: Any) -> None:
        super().__init__(**shared)
        self.corruption, self.weight = corruption, weight

    @property
    def traits(self) -> Traits:
        return Traits(
            name="TwoViews",
            question=f"next token, and masked tokens ({self.corruption.name})",
            attention="bidirectional",
            scores=("chain_rule", "pll", "pll_word_l2r"),
            numeric={"masked weight": self.weight},
        )

    def densities(self, spent: float) -> tuple[float, ...]:
        return (1.0, self.corruption.rates.mean(spent))

    def views(self, tokens_BT: Tensor, key: Key) -> tuple[View, ...]:
        masked = cloze(tokens_BT, key, self.corruption, self.vocabulary)
        weights_BT = torch.full_like(tokens_BT, self.weight, dtype=torch.float32)
        return (causal(tokens_BT, self.vocabulary), masked._replace(weights_BT=weights_BT))
