"""What a view's inputs say of its targets, as far as exact Bayes losses need to know it."""

from __future__ import annotations

from dataclasses import dataclass


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
