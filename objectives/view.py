"""What an objective makes of clean tokens, and what a model predictions.

B blocks, T positions, N asked positions.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from torch import Tensor

from objectives.encoder.model import Attention

IGNORE = -100
"""Target of a position that is not asked."""


class Batch(NamedTuple):
    """Blocks of clean tokens, with the pass over the data and the index of each block; all int64."""

    tokens_BT: Tensor
    epoch_B: Tensor
    index_B: Tensor


class View(NamedTuple):
    """What is read, what is asked, who sees whom."""

    inputs_BT: Tensor
    """Token ids that the encoder reads."""
    targets_BT: Tensor
    """Token id asked at each position; IGNORE where nothing is."""
    attention: Attention
    """"causal", "bidirectional", or a boolean mask (B, 1, T, T), True where row sees column."""
    selected_BT: Tensor | None = None
    """True at positions chosen for corruption, changed or kept; None where the objective corrupts nothing."""
    weight: float = 1.0
    """Weight of this view's targets in the loss."""
    channel: Any = None
    """What made the inputs of the clean tokens, for exact Bayes losses; None where nothing is corrupted, or not known."""


class Predictions(NamedTuple):
    """A model's predictions to the N asked positions of a view, in the order of the view."""

    targeted_BT: Tensor
    nats_N: Tensor
    """−log p of the target, float64."""
    correct_N: Tensor
    """True where the most probable token is the target."""
    special_N: Tensor
    """True where the target is a special token."""
