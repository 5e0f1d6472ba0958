"""How a mask rate becomes corrupted tokens: which positions MLM selects, and what replaces their tokens.

B blocks, T positions.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, NamedTuple

import torch
from torch import Tensor

from objectives.training.randomness import Key, uniform
from objectives.vocabulary import Vocabulary


class Corrupted(NamedTuple):
    """inputs_BT: the corrupted tokens; selected_BT: True at the selected positions, changed or kept."""

    inputs_BT: Tensor
    selected_BT: Tensor


@dataclass(frozen=True)
class Corruption:
    """BERT's corruption (Devlin et al. 2019): select positions, then mask, replace or keep each of them.

    The triple (mask, random, keep) must sum to 1: 0.8, 0.1, 0.1 means that a selected token becomes [MASK] with
    probability 0.8, a random regular token with 0.1, and stays with 0.1. Random tokens are uniform over all regular
    ids, the true one included. Special tokens and padding are never selected.

    Raises:
        ValueError: when the rate is outside (0, 1] or the mix does not sum to 1.
    """

    rate: float = 0.15
    """Share of the regular positions that is selected."""
    mask: float = 0.8
    """Share of the selected positions whose token becomes [MASK]."""
    random: float = 0.1
    """Share of the selected positions whose token becomes a random regular one."""
    keep: float = 0.1
    """Share of the selected positions whose token stays."""
    selection: Literal["bernoulli", "exact"] = "bernoulli"
    """bernoulli: each regular position independently with probability `rate`. exact: in each block of n regular
    positions exactly floor(rate * n + 1/2) of them, a uniform subset; a block may then have none."""

    def __post_init__(self) -> None:
        if not 0 < self.rate <= 1:
            raise ValueError(f"the mask rate must be in (0, 1], but is {self.rate}")
        mix = {"mask": self.mask, "random": self.random, "keep": self.keep}
        if any(not 0 <= share <= 1 for share in mix.values()) or not math.isclose(sum(mix.values()), 1, abs_tol=1e-6):
            raise ValueError(
                f"the corruption mix must be three shares in [0, 1] that sum to 1, but {mix} sum to "
                f"{sum(mix.values()):g} (they are shares of all selected positions: 0.8, 0.1, 0.1 in BERT)"
            )
        if self.selection not in ("bernoulli", "exact"):
            raise ValueError(f"selection must be bernoulli or exact, but is {self.selection!r}")

    def __call__(self, tokens_BT: Tensor, key: Key, vocabulary: Vocabulary) -> Corrupted:
        """Corrupt clean tokens; a pure function of (tokens, key)."""
        length = tokens_BT.shape[1]
        selected_BT = self.select(~vocabulary.is_special(tokens_BT), key)
        action_BT = uniform(key, "action", length)
        rank_BT = (uniform(key, "replacement", length) * vocabulary.regular).long()
        masked_BT = selected_BT & (action_BT < self.mask)
        # A draw is a multiple of 2^-53 below 1, so keep = 0 keeps nothing and keep = 1 everything.
        randomised_BT = selected_BT & ~masked_BT & (action_BT < 1 - self.keep)
        inputs_BT = torch.where(randomised_BT, vocabulary.nth_regular(rank_BT), tokens_BT)
        return Corrupted(inputs_BT.masked_fill(masked_BT, vocabulary.mask), selected_BT)

    def select(self, regular_BT: Tensor, key: Key) -> Tensor:
        """True at the selected positions; never where `regular_BT` is False."""
        draw_BT = uniform(key, "selection", regular_BT.shape[1])
        if self.selection == "bernoulli":
            return regular_BT & (draw_BT < self.rate)
        count_B = torch.floor(self.rate * regular_BT.sum(1, dtype=torch.float64) + 0.5)
        order_BT = draw_BT.masked_fill(~regular_BT, 2.0).argsort(dim=1, stable=True).argsort(dim=1)
        return regular_BT & (order_BT < count_B[:, None])
