"""What replaces the tokens at the selected positions.

B blocks, T positions.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass

import torch
from torch import Tensor

from objectives.training.randomness import Key, uniform
from objectives.vocabulary import Vocabulary


@dataclass(frozen=True)
class Replacement:
    """Of the selected tokens a share becomes [MASK], a share a random regular token, and a share stays.

    Random tokens are uniform over all regular ids, the true one included.

    Raises:
        ValueError: when the shares do not sum to 1.
    """

    mask: float
    random: float
    keep: float

    def __post_init__(self) -> None:
        mix = asdict(self)
        if any(not 0 <= share <= 1 for share in mix.values()) or not math.isclose(sum(mix.values()), 1, abs_tol=1e-6):
            raise ValueError(
                f"the corruption mix must be three shares in [0, 1] that sum to 1, but {mix} sum to "
                f"{sum(mix.values()):g} (they are shares of all selected positions: 0.8, 0.1, 0.1 in BERT)"
            )

    @property
    def name(self) -> str:
        """The shares in per cent, mask/random/keep: 80/10/10."""
        return "/".join(f"{100 * share:g}" for share in (self.mask, self.random, self.keep))

    def __call__(self, tokens_BT: Tensor, selected_BT: Tensor, key: Key, vocabulary: Vocabulary) -> Tensor:
        """The tokens, replaced at the selected positions; a pure function."""
        length = tokens_BT.shape[1]
        action_BT = uniform(key, "action", length)
        rank_BT = (uniform(key, "replacement", length) * vocabulary.regular).long()
        masked_BT = selected_BT & (action_BT < self.mask)
        # A draw is a multiple of 2^-53 below 1, so keep = 0 keeps nothing and keep = 1 everything.
        randomised_BT = selected_BT & ~masked_BT & (action_BT < 1 - self.keep)
        inputs_BT = torch.where(randomised_BT, vocabulary.nth_regular(rank_BT), tokens_BT)
        return inputs_BT.masked_fill(masked_BT, vocabulary.mask)
