"""The loss at target positions, from features to nats, without holding all logits where torch can avoid it.

N target positions, D width, V vocabulary.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.utils.checkpoint import checkpoint

CHUNK = 512
"""Positions whose logits are held at once, where torch has a fused loss (2.13 and later)."""
LOGITS = 2**26
"""Logits that are held at once in mixed precision, or of weighted targets; those of more positions are computed again
for the gradient."""
_FUSED = getattr(torch.nn, "LinearCrossEntropyOptions", None)


def summed_nll(features_ND: Tensor, weight_VD: Tensor, bias_V: Tensor, targets_N: Tensor) -> Tensor:
    """Sum over positions of -log softmax(features W' + b)[target], in nats; 0, with a gradient, for N = 0.

    In mixed precision logits are of 16 bits, softmax and sum of 32: torch's fused loss would sum 16 bits.
    """
    kind = features_ND.device.type
    if torch.amp.is_autocast_available(kind) and torch.is_autocast_enabled(kind):
        if len(targets_N) > (size := max(CHUNK, LOGITS // len(weight_VD))):
            parts = zip(features_ND.split(size), targets_N.split(size), strict=True)
            return torch.stack(
                [checkpoint(_summed_nll, some, weight_VD, bias_V, of, use_reentrant=False) for some, of in parts]
            ).sum()
    elif _FUSED is not None and targets_N.numel() > CHUNK:
        return F.linear_cross_entropy(
            features_ND,
            weight_VD,
            targets_N,
            linear_bias=bias_V,
            reduction="sum",
            options=_FUSED(batch_chunk_size=CHUNK),
        )
    return _summed_nll(features_ND, weight_VD, bias_V, targets_N)


def _summed_nll(features_ND: Tensor, weight_VD: Tensor, bias_V: Tensor, targets_N: Tensor) -> Tensor:
    return F.cross_entropy(F.linear(features_ND, weight_VD, bias_V).float(), targets_N, reduction="sum")


def target_nlls(features_ND: Tensor, weight_VD: Tensor, bias_V: Tensor, targets_N: Tensor) -> Tensor:
    """-log softmax(features W' + b)[target] at each position, in nats, (N,)."""
    if len(targets_N) <= (size := max(CHUNK, LOGITS // len(weight_VD))):
        return _target_nlls(features_ND, weight_VD, bias_V, targets_N)
    parts = zip(features_ND.split(size), targets_N.split(size), strict=True)
    return torch.cat([checkpoint(_target_nlls, some, weight_VD, bias_V, of, use_reentrant=False) for some, of in parts])


def _target_nlls(features_ND: Tensor, weight_VD: Tensor, bias_V: Tensor, targets_N: Tensor) -> Tensor:
    return F.cross_entropy(F.linear(features_ND, weight_VD, bias_V).float(), targets_N, reduction="none")
