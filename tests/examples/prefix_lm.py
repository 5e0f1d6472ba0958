"""A prefix language model (Raffel et al. 2020): the first tokens of a block see each other, the rest look left.

B blocks, T positions.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from objectives import IGNORE, Key, Objective, Past, Traits, View, uniform
from objectives.clm import next_token


class BlockPrefixLM(Objective):
    """Next-token prediction behind a prefix, whose length is uniform from none to a share `longest` of the block.

    Args:
        longest: share of a block that the longest prefix takes.
        shared: the fields of SharedSettings.
    """

    def __init__(self, longest: float = 0.5, **shared: Any) -> None:
        super().__init__(**shared)
        if not 0 <= longest < 1:
            raise ValueError(f"the longest prefix must be a share in [0, 1), but is {longest}")
        self.longest = longest

    @property
    def traits(self) -> Traits:
        question = f"next token after a prefix of up to {100 * self.longest:g} %"
        factors = {"longest prefix": self.longest}
        return Traits("BlockPrefixLM", question, "bidirectional", ("chain_rule",), numeric=factors)

    def densities(self, spent: float) -> tuple[float, ...]:
        return (1 - self.longest / 2,)

    def views(self, tokens_BT: Tensor, key: Key) -> tuple[View, ...]:
        length = tokens_BT.shape[1]
        place_T = torch.arange(length, device=tokens_BT.device)
        prefix_B1 = (uniform(key, "prefix", 1) * self.longest * length).floor()
        causal_TT = torch.ones(length, length, dtype=torch.bool, device=tokens_BT.device).tril()
        attention_BTT = causal_TT | (place_T < prefix_B1)[:, None, :]
        # A position predicts the next token, which must not be in the prefix that it sees.
        targets_BT = next_token(tokens_BT, self.vocabulary).masked_fill(place_T + 1 < prefix_B1, IGNORE)
        return (View(tokens_BT, targets_BT, attention_BTT[:, None], shift=1, channel=Past()),)
