"""What passes between data, objective and model: batches, views and their channels, predictions.

B blocks, T positions, N target positions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from objectives.encoder.model import Attention
from objectives.training.randomness import Key, evaluation_key

IGNORE = -100
"""The target at positions where nothing is predicted."""


class Batch(NamedTuple):
    """Blocks of clean tokens, the pass over the data and the index of each block; all int64."""

    tokens_BT: Tensor
    epoch_B: Tensor
    index_B: Tensor
    word_starts_BT: Tensor | None = None
    """True where a token begins a word: special tokens, the token behind one and the first of a block do; bool. None
    where the data knows no words."""

    def key(self, seed: int, spent: float = 1.0) -> Key:
        """What the views of these blocks are made by in training under a seed."""
        return Key(seed, self.epoch_B, self.index_B, spent, self.word_starts_BT)

    def evaluation_key(self) -> Key:
        """What the views of these blocks are made by in every evaluation."""
        return evaluation_key(self.index_B, self.word_starts_BT)

    def to(self, device: torch.device) -> Batch:
        """On a device."""
        starts_BT = None if self.word_starts_BT is None else self.word_starts_BT.to(device)
        return Batch(self.tokens_BT.to(device), self.epoch_B.to(device), self.index_B.to(device), starts_BT)


@dataclass(frozen=True)
class Past:
    """Inputs are clean, and a target is the token behind its position, predicted from all tokens up to there."""


@dataclass(frozen=True)
class Noise:
    """What happens to each regular token, independently of the others; a target is predicted from all that is left.

    The shares of a token that is selected: it becomes [MASK], a random regular token (uniform over all of them, the
    true one included), or stays.
    """

    rate: float
    """Probability that a token is selected."""
    mask: float
    random: float
    keep: float
    predicted: float = 1.0
    """Probability that a selected token is a target."""
    predicted_besides: float = 0.0
    """Probability that another one is a target."""


@dataclass(frozen=True)
class PastOrNoise:
    """Each block is one of `Past` or of noise, and its attention mask says which: Past where the first position does
    not see the last."""

    noise: Noise


Channel = Past | Noise | PastOrNoise
"""What a view's inputs say of its targets, as far as exact Bayes losses need to know it."""


class View(NamedTuple):
    """What is read, what is predicted, and who sees whom; an objective makes it of clean tokens."""

    inputs_BT: Tensor
    """Token ids that the encoder reads."""
    targets_BT: Tensor
    """Token id to predict at each position; IGNORE where there is none."""
    attention: Attention
    """"causal", "bidirectional", or a boolean mask (B, 1, T, T), True where row sees column."""
    selected_BT: Tensor | None = None
    """True at positions selected for corruption, changed or kept; None when the objective corrupts nothing."""
    weights_BT: Tensor | None = None
    """Weight of each target in the loss, float32; None where all are 1."""
    shift: int = 0
    """How many positions behind its own the token lies that a position predicts: 0, or 1 for the next one."""
    channel: Channel | None = None
    """What the inputs say of the targets, for exact Bayes losses; None where that has no simple form."""


class ViewLoss(NamedTuple):
    """The loss over the targets of a view, and what it took."""

    loss: Tensor
    """Sum over the targets of weight times nats, to be differentiated."""
    nats: Tensor
    """The same, float64, without a gradient."""
    weight: float
    """Sum of the weights: of what `nats` is the mean times."""
    targets: int
    """Number of targets."""
    selected: int
    """Positions selected for corruption, changed or kept."""
    corrupted: int
    """Positions whose input is not the clean token."""
    flops: float
    """Operations, forward and backward."""


class Predictions(NamedTuple):
    """What a model predicts at the N target positions of a view, in the order of the view."""

    targeted_BT: Tensor
    """True at the target positions."""
    nats_N: Tensor
    """−log p of the target, float64."""
    correct_N: Tensor
    """True where the most probable token is the target."""
    special_N: Tensor
    """True where the target is a special token."""
    weights_N: Tensor | None = None
    """Weight of the target; None where all are 1."""
