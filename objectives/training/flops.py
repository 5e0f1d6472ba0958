"""How many floating-point operations the encoder costs, by formula.

A multiplication with an (I, O) matrix costs 2 * I * O operations for one token; the backward pass twice the forward
pass. Norms, activations, rotary positions and softmax are left out, as in torch's FlopCounterMode. Attention counts
all T x T pairs, visible or not, because all are computed.

Where targets are few, the last layer computes keys and values for all tokens and the rest for the targets alone; its
attention is computed for as many queries in each row as the row with most targets has.
"""

from __future__ import annotations

from objectives.encoder.config import EncoderConfig

BACKWARD = 2
"""Operations of the backward pass, in units of the forward pass."""


def training_flops(
    config: EncoderConfig, vocabulary_size: int, length: int, tokens: float, targets: float, queries: float | None
) -> float:
    """Operations to train on one view of `tokens` tokens in sequences of `length`, forward and backward.

    Args:
        targets: target positions.
        queries: positions that attend in the last layer, where it computes the targets alone; None where it computes
            all.
    """
    return float((1 + BACKWARD) * forward_flops(config, vocabulary_size, length, tokens, targets, queries))


def forward_flops(
    config: EncoderConfig, vocabulary_size: int, length: int, tokens: float, targets: float, queries: float | None
) -> float:
    """Operations of the forward pass; the arguments are those of `training_flops`."""
    keys_and_values = 2 * config.width * 2 * config.width
    attention = 2 * 2 * length * config.width
    rest = 2 * config.width * (2 * config.width + 3 * config.inner)
    layer = tokens * (keys_and_values + attention + rest)
    last = layer if queries is None else tokens * keys_and_values + queries * attention + targets * rest
    head = 2 * config.width * (config.width + vocabulary_size)
    return (config.depth - 1) * layer + last + targets * head
