"""How a mask rate becomes corrupted tokens: a selection of positions at a rate, and what replaces their tokens.

B blocks, T positions.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from torch import Tensor

from objectives.corruption.rate import Rate, as_rate, check_rates
from objectives.corruption.replacement import Replacement
from objectives.corruption.selection import Bernoulli, Selection
from objectives.training.randomness import Key
from objectives.view import Noise
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

    rate: float | Rate = 0.15
    """Share of the regular positions that is selected: a number, or the class path of a Rate with its settings."""
    mask: float = 0.8
    """Share of the selected positions whose token becomes [MASK]."""
    random: float = 0.1
    """Share of the selected positions whose token becomes a random regular one."""
    keep: float = 0.1
    """Share of the selected positions whose token stays."""
    selection: Selection = field(default_factory=Bernoulli)
    """How positions are selected: Bernoulli, ExactCount, Words, Spans, or the class path of another selection."""

    def __post_init__(self) -> None:
        check_rates(self.rates.mean(0.0), self.rates.mean(1.0))
        if not isinstance(self.selection, Selection):
            raise ValueError(f"selection must be a Selection, such as Bernoulli(), but is {self.selection!r}")
        _ = self.replacement  # refuses a mix that does not sum to 1

    @property
    def replacement(self) -> Replacement:
        """What replaces the selected tokens."""
        return Replacement(self.mask, self.random, self.keep)

    @property
    def rates(self) -> Rate:
        """The rate of each block."""
        return as_rate(self.rate)

    @property
    def name(self) -> str:
        """Rate, mix and, unless it is Bernoulli's, the selection, as the records call them."""
        selection = "" if isinstance(self.selection, Bernoulli) else f", {self.selection.name}"
        return f"{self.rates.name}, {self.replacement.name}{selection}"

    def __call__(self, tokens_BT: Tensor, key: Key, vocabulary: Vocabulary) -> Corrupted:
        """Corrupt clean tokens; a pure function of (tokens, key)."""
        selected_BT = self.selection(tokens_BT, self.rates.of_blocks(key), key, vocabulary)
        return Corrupted(self.replacement(tokens_BT, selected_BT, key, vocabulary), selected_BT)

    def noise(self, spent: float) -> Noise | None:
        """What it does to each token when a share `spent` of the budget has been read; None where that is no product
        over positions: the selections of a block depend on one another, or have a rate that nobody knows.

        Where every selected token becomes [MASK] and no other one does, what is hidden is plain to see, and the rate
        says nothing more about what it was: any will do.
        """
        rate = self.rates.one(spent)
        if rate is None and self.mask == 1:
            rate = self.rates.mean(spent)
        if rate is None or not isinstance(self.selection, Bernoulli):
            return None
        return Noise(rate, self.mask, self.random, self.keep)
