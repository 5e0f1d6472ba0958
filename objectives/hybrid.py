"""Causal and masked blocks side by side, in both of which a position predicts the next token.

B blocks, T positions.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from objectives.base import Objective
from objectives.clm import causal
from objectives.corruption import Corruption, Rate
from objectives.corruption.rate import as_rate
from objectives.masked_next_token import masked_next_token
from objectives.mlm import masking_choices, masking_rates
from objectives.training.randomness import Key, uniform
from objectives.traits import Traits
from objectives.view import Noise, PastOrNoise, View

MASKED_SCORES = ("pll", "pll_word_l2r")


class Hybrid(Objective):
    """A share of the blocks is read as by CLM, the rest as by MaskedNextToken (Charpentier & Samuel 2024, GPT-BERT).

    Both have one head and one shift, so a batch is one view whose mask says which block is which. Every target weighs
    the same, so a causal block weighs 1 / rate times as much as a masked one.

    Args:
        corruption: that of the masked blocks.
        causal: share of the blocks that are causal, in [0, 1]: a number, or a schedule over the budget.
        shared: the fields of SharedSettings.

    Raises:
        ValueError: when the share is out of range, or is drawn for each block.
    """

    def __init__(self, corruption: Corruption, causal: float | Rate = 0.5, **shared: Any) -> None:
        super().__init__(**shared)
        share = as_rate(causal)
        if share.one(1.0) is None or not (0 <= share.mean(0.0) <= 1 and 0 <= share.mean(1.0) <= 1):
            raise ValueError(
                f"the share of causal blocks must be a number in [0, 1], or a schedule between two, but is {causal!r}"
            )
        self.corruption, self.causal = corruption, causal

    @property
    def traits(self) -> Traits:
        share = as_rate(self.causal)
        mean = share.over_budget()
        left_to_right, both_ways = ("chain_rule",) * (mean > 0), MASKED_SCORES * (mean < 1)
        # No huggingface: see MaskedNextToken, and a stock causal model is half of this one.
        return Traits(
            name=type(self).__name__,
            question=f"next token in {share.name} of the blocks, masked tokens at the position before "
            f"({self.corruption.name}) in the others",
            attention="bidirectional" if both_ways else "causal",
            scores=left_to_right + both_ways if share.mean(1.0) > 0 else both_ways + left_to_right,
            mask_shift=1,
            numeric={"share of CLM": mean, **masking_rates(self.corruption)},
            categorical={**masking_choices(self.corruption), "CLM schedule": share.name},
        )

    @property
    def switches(self) -> tuple[float, ...]:
        return tuple(sorted({*as_rate(self.causal).switches, *self.corruption.rates.switches}))

    def densities(self, spent: float) -> tuple[float, ...]:
        share = as_rate(self.causal).mean(spent)
        return (share + (1 - share) * self.corruption.rates.mean(spent),)

    def views(self, tokens_BT: Tensor, key: Key) -> tuple[View, ...]:
        clean = causal(tokens_BT, self.vocabulary)
        masked = masked_next_token(tokens_BT, key, self.corruption, self.vocabulary)
        causal_B1 = uniform(key, "causal", 1) < as_rate(self.causal).of_blocks(key)
        assert masked.selected_BT is not None, "a corruption selects"
        past_TT = torch.ones(2 * tokens_BT.shape[1:], dtype=torch.bool, device=tokens_BT.device).tril()
        return (
            View(
                inputs_BT=torch.where(causal_B1, clean.inputs_BT, masked.inputs_BT),
                targets_BT=torch.where(causal_B1, clean.targets_BT, masked.targets_BT),
                attention=past_TT | ~causal_B1[:, :, None, None],
                selected_BT=masked.selected_BT & ~causal_B1,
                shift=1,
                channel=PastOrNoise(masked.channel) if isinstance(masked.channel, Noise) else None,
            ),
        )
