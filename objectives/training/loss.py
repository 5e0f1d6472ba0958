"""The loss at target positions, from features to nats, without holding all logits where torch can avoid it.

N target positions, D width, V vocabulary.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

CHUNK = 512
"""Positions whose logits are held at once, where torch has a fused loss (2.13 and later)."""
_FUSED = getattr(torch.nn, "LinearCrossEntropyOptions", None)


def summed_nll(features_ND: Tensor, weight_VD: Tensor, bias_V: Tensor, targets_N: Tensor) -> Tensor:
    """Sum over positions of -log softmax(features W' + b)[target], in nats; 0, with a gradient, for N = 0."""
    if _FUSED is None or targets_N.numel() <= CHUNK:
        return F.cross_entropy(F.linear(features_ND, weight_VD, bias_V).float(), targets_N, reduction="sum")
    return F.linear_cross_entropy(
        features_ND,
        weight_VD,
        targets_N,
        linear_bias=bias_V,
        reduction="sum",
        options=_FUSED(batch_chunk_size=CHUNK),
    )


def target_nlls(features_ND: Tensor, weight_VD: Tensor, bias_V: Tensor, targets_N: Tensor) -> Tensor:
    """-log softmax(features W' + b)[target] at each position, in nats, (N,); it holds all logits."""
    return F.cross_entropy(F.linear(features_ND, weight_VD, bias_V).float(), targets_N, reduction="none")
