"""The settings of the encoder."""

from __future__ import annotations

import math
from dataclasses import dataclass

LONGEST = 2**20
DEEPEST = 1_000
MOST_PARAMETERS = 10**11
"""More is a slip, and would hang or fill the memory rather than train."""


@dataclass(frozen=True)
class EncoderConfig:
    """Geometry of the encoder.

    Raises:
        ValueError: when the heads do not divide the width into even parts, or a number is out of range.
    """

    width: int = 128
    """Size of the hidden states."""
    depth: int = 4
    """Number of layers."""
    heads: int = 4
    """Number of attention heads; width / heads must be even, for the rotary positions."""
    intermediate: int | None = None
    """Size inside the GeGLU, after gating; 2 * width when not given."""
    max_length: int = 512
    """Longest sequence the encoder accepts."""
    rope_theta: float = 10_000.0
    """Base of the rotary frequencies."""
    norm_eps: float = 1e-5
    """Epsilon of the layer norms."""
    dropout: float = 0.0
    """Dropout after the embedding, in the attention and in the feed-forward block."""

    def __post_init__(self) -> None:
        if min(self.width, self.depth, self.heads, self.max_length) < 1 or self.width % (2 * self.heads):
            raise ValueError(
                f"width, depth, heads and max_length must be positive and width / heads an even number, but got "
                f"width {self.width}, depth {self.depth}, heads {self.heads}, max_length {self.max_length}"
            )
        if self.inner < 1 or not all(0 < value < math.inf for value in (self.rope_theta, self.norm_eps)):
            raise ValueError(
                f"intermediate, rope_theta and norm_eps must be positive and finite, but got intermediate "
                f"{self.intermediate}, rope_theta {self.rope_theta}, norm_eps {self.norm_eps}"
            )
        if self.max_length > LONGEST or self.depth > DEEPEST:
            raise ValueError(
                f"max_length goes up to {LONGEST:,} and depth up to {DEEPEST:,}, but got max_length {self.max_length} "
                f"and depth {self.depth}"
            )
        parameters = self.depth * self.width * (4 * self.width + 3 * self.inner)
        if parameters > MOST_PARAMETERS:
            raise ValueError(
                f"width {self.width}, depth {self.depth} and intermediate {self.inner} make {parameters:.2g} "
                f"parameters, but an encoder has at most {MOST_PARAMETERS:.0e}"
            )
        if not 0 <= self.dropout < 1:
            raise ValueError(f"dropout must be in [0, 1), but is {self.dropout}")

    @property
    def inner(self) -> int:
        """Size inside the GeGLU after gating."""
        return 2 * self.width if self.intermediate is None else self.intermediate
