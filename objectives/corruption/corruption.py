"""How a mask rate becomes corrupted tokens: a selection of positions at a rate, and what replaces their tokens.

B blocks, T positions.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from torch import Tensor

from objectives.corruption.replacement import Replacement
from objectives.corruption.selection import Bernoulli, Selection
from objectives.training.randomness import Key
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
    selection: Selection = field(default_factory=Bernoulli)
    """How positions are selected: Bernoulli, ExactCount, or the class path of another selection."""

    def __post_init__(self) -> None:
        if not 0 < self.rate <= 1:
            raise ValueError(f"the mask rate must be in (0, 1], but is {self.rate}")
        if not isinstance(self.selection, Selection):
            raise ValueError(f"selection must be a Selection, such as Bernoulli(), but is {self.selection!r}")
        _ = self.replacement  # refuses a mix that does not sum to 1

    @property
    def replacement(self) -> Replacement:
        """What replaces the selected tokens."""
        return Replacement(self.mask, self.random, self.keep)

    @property
    def name(self) -> str:
        """Rate, mix and, unless it is Bernoulli's, the selection, as the records call them."""
        selection = "" if isinstance(self.selection, Bernoulli) else f", {self.selection.name}"
        return f"{100 * self.rate:g} %, {self.replacement.name}{selection}"

    def __call__(self, tokens_BT: Tensor, key: Key, vocabulary: Vocabulary) -> Corrupted:
        """Corrupt clean tokens; a pure function of (tokens, key)."""
        selected_BT = self.selection(~vocabulary.is_special(tokens_BT), self.rate, key)
        return Corrupted(self.replacement(tokens_BT, selected_BT, key, vocabulary), selected_BT)
