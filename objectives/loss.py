"""The loss of asked positions, from features to nats, without holding all logits where torch can avoid it.

N asked positions, D width, V vocabulary.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

try:
    from torch.nn import LinearCrossEntropyOptions

    _OPTIONS = LinearCrossEntropyOptions(batch_chunk_size=512)
except ImportError:  # torch < 2.13
    _OPTIONS = None


def summed_nll(features_ND: Tensor, weight_VD: Tensor, bias_V: Tensor, targets_N: Tensor) -> Tensor:
    """Sum over positions of -log softmax(features W' + b)[target], in nats; 0, with a gradient, for N = 0."""
    if _OPTIONS is None or targets_N.numel() <= 512 or not torch.is_grad_enabled():
        return F.cross_entropy(F.linear(features_ND, weight_VD, bias_V).float(), targets_N, reduction="sum")
    return F.linear_cross_entropy(
        features_ND, weight_VD, targets_N, linear_bias=bias_V, reduction="sum", options=_OPTIONS
    )
