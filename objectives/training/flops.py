"""How many floating-point operations the encoder costs, by formula.

A multiplication with an (I, O) matrix costs 2 * I * O operations for one token; the backward pass twice the forward
pass. Norms, activations, rotary positions and softmax are left out, as in torch's FlopCounterMode. Attention counts
all T x T pairs, visible or not, because all are computed.
"""

from __future__ import annotations

from typing import Any

from objectives.encoder.config import EncoderConfig

BACKWARD = 2
"""Operations of the backward pass, in units of the forward pass."""


def body_flops(config: EncoderConfig, length: int) -> int:
    """Operations of the layers for one token in a sequence of `length`, forward pass."""
    projections = 2 * config.width * (3 * config.width + config.width)
    attention = 2 * 2 * length * config.width
    feedforward = 2 * config.width * 3 * config.inner
    return config.depth * (projections + attention + feedforward)


def head_flops(config: EncoderConfig, vocabulary_size: int) -> int:
    """Operations of head and decoder for one target position, forward pass."""
    return 2 * config.width * (config.width + vocabulary_size)


def training_flops(config: EncoderConfig, vocabulary_size: int, length: int, tokens: float, targets: Any) -> float:
    """Operations to train on `tokens` read and `targets` predicted, forward and backward; each view reads its own."""
    forward = tokens * body_flops(config, length) + targets * head_flops(config, vocabulary_size)
    return float((1 + BACKWARD) * forward)
