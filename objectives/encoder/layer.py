"""One layer of the encoder, and its cache of keys and values for incremental decoding.

B sequences, T positions, N target positions, K of the sequence that has most, D width, H heads, d = D / H.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from objectives.encoder.config import EncoderConfig
from objectives.encoder.targets import TargetPositions

Rotation = tuple[Tensor, Tensor]
"""Cosine and sine of the rotary angles, each (B or 1, 1, T, d); the first half of the sines is negated."""


class Layer(nn.Module):
    """Attention and GeGLU, each preceded by a norm and added to the residual stream."""

    def __init__(self, config: EncoderConfig, first: bool) -> None:
        super().__init__()
        self.heads, self.dropout = config.heads, config.dropout
        self.attention_norm = nn.Identity() if first else norm(config)
        self.attention_input = nn.Linear(config.width, 3 * config.width, bias=False)
        self.attention_output = nn.Linear(config.width, config.width, bias=False)
        self.feedforward_norm = norm(config)
        self.feedforward_input = nn.Linear(config.width, 2 * config.inner, bias=False)
        self.feedforward_output = nn.Linear(config.inner, config.width, bias=False)

    def forward(
        self, hidden_BTD: Tensor, rotation: Rotation, visible: Tensor | str | None, cache: KVCache | None = None
    ) -> Tensor:
        """New hidden states (B, T, D). With a cache, the tokens also see those that it holds, and are added to it."""
        query, key, value = self._split(self.attention_input(self.attention_norm(hidden_BTD)))
        key = _rotate(key, rotation)
        if cache is not None:
            key, value = cache.append(key, value)
        mixed_BHTd = self._attend(_rotate(query, rotation), key, value, visible)
        return self._feed_forward(hidden_BTD + self.attention_output(mixed_BHTd.transpose(1, 2).flatten(2)))

    def forward_at(
        self, targets: TargetPositions, hidden_BTD: Tensor, rotation: Rotation, visible: Tensor | str | None
    ) -> Tensor:
        """New hidden states (N, D) of the target positions; of the others only keys and values are computed."""
        if targets.position_BK is None:
            return self(hidden_BTD, rotation, visible).flatten(0, 1)[targets.place_N]
        width, position_BK = hidden_BTD.shape[2], targets.position_BK
        normed_BTD = self.attention_norm(hidden_BTD)
        weights = self.attention_input.weight
        query_ND = F.linear(normed_BTD.flatten(0, 1)[targets.place_N], weights[:width])
        query_SD = query_ND.new_zeros(position_BK.numel(), width).index_copy(0, targets.slot_N, query_ND)
        (query,) = self._split(query_SD.view(*position_BK.shape, width))
        key, value = self._split(F.linear(normed_BTD, weights[width:]))
        cosine, sine = (_gather(part[:, 0], position_BK)[:, None] for part in rotation)
        query = _rotate(query, (cosine, sine))
        mixed_BHKd = self._attend(
            query, _rotate(key, rotation), value, _visible_at(position_BK, visible, hidden_BTD.shape[1])
        )
        mixed_ND = mixed_BHKd.transpose(1, 2).reshape(-1, width)[targets.slot_N]
        return self._feed_forward(hidden_BTD.flatten(0, 1)[targets.place_N] + self.attention_output(mixed_ND))

    def _split(self, projected: Tensor) -> tuple[Tensor, ...]:
        """n tensors (B, H, T, d) from their concatenated projections (B, T, n D)."""
        batch, length, _ = projected.shape
        size = self.attention_output.in_features // self.heads
        return projected.view(batch, length, -1, self.heads, size).permute(2, 0, 3, 1, 4).unbind()

    def _attend(self, query: Tensor, key: Tensor, value: Tensor, visible: Tensor | str | None) -> Tensor:
        return F.scaled_dot_product_attention(
            query,
            key,
            value,
            attn_mask=visible if isinstance(visible, Tensor) else None,
            is_causal=visible == "causal" if isinstance(visible, str) else False,
            dropout_p=self.dropout if self.training else 0.0,
        )

    def _feed_forward(self, hidden: Tensor) -> Tensor:
        value, gate = self.feedforward_input(self.feedforward_norm(hidden)).chunk(2, dim=-1)
        inner = F.dropout(F.gelu(value) * gate, self.dropout, self.training)
        return hidden + self.feedforward_output(inner)


class KVCache:
    """Rotated keys and values (B, H, T, d) of the tokens that one layer has processed."""

    def __init__(self) -> None:
        self.key: Tensor | None = None
        self.value: Tensor | None = None

    @property
    def length(self) -> int:
        """Number of tokens."""
        return 0 if self.key is None else self.key.shape[2]

    def append(self, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        """All keys and values, the new ones last."""
        if self.key is not None and self.value is not None:
            key, value = torch.cat((self.key, key), dim=2), torch.cat((self.value, value), dim=2)
        self.key, self.value = key, value
        return key, value


def norm(config: EncoderConfig) -> nn.LayerNorm:
    return nn.LayerNorm(config.width, eps=config.norm_eps, bias=False)


def _rotate(part_BHTd: Tensor, rotation: Rotation) -> Tensor:
    """Rotary position embedding (Su et al. 2021), pairing each component with the one half a head away."""
    turned_BHTd = part_BHTd.roll(part_BHTd.shape[3] // 2, dims=3)
    return (part_BHTd * rotation[0]).add_(turned_BHTd * rotation[1])


def _gather(rows_BTD: Tensor, positions_BK: Tensor) -> Tensor:
    """(B, K, D) of (B or 1, T, D)."""
    batch = positions_BK.shape[0]
    return rows_BTD.expand(batch, -1, -1)[torch.arange(batch, device=positions_BK.device)[:, None], positions_BK]


def _visible_at(positions_BK: Tensor, visible: Tensor | str | None, length: int) -> Tensor | None:
    """What the target positions see: a mask (B, 1, K, T), or None for all."""
    if visible is None:
        return None
    if isinstance(visible, Tensor):
        return _gather(visible[:, 0], positions_BK)[:, None]
    return (torch.arange(length, device=positions_BK.device) <= positions_BK[:, :, None])[:, None]
