"""One layer of the encoder, and the cache that lets it read on.

B sequences, T positions, K asked positions, D width, H heads, d = D / H.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from objectives.encoder.config import EncoderConfig

Rotation = tuple[Tensor, Tensor]
"""Cosine and sine of the rotary angles, each (B or 1, 1, T, d); the first half of the sines with a minus."""


class Layer(nn.Module):
    """Attention and GeGLU, each behind a norm and added to the residual stream."""

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
        self, hidden_BTD: Tensor, rotation: Rotation, visible: Tensor | str | None, past: KVCache | None = None
    ) -> Tensor:
        """New hidden states (B, T, D); with `past`, of tokens that also see all those it holds, and join them."""
        query, key, value = self._split(self.attention_input(self.attention_norm(hidden_BTD)))
        key = _rotate(key, rotation)
        if past is not None:
            key, value = past.extend(key, value)
        return self._update(hidden_BTD, _rotate(query, rotation), key, value, visible)

    def at(self, positions_BK: Tensor, hidden_BTD: Tensor, rotation: Rotation, visible: Tensor | str | None) -> Tensor:
        """New hidden states (B, K, D) of the asked positions alone; the others only lend their keys and values."""
        width = hidden_BTD.shape[2]
        normed_BTD = self.attention_norm(hidden_BTD)
        weights = self.attention_input.weight
        (query,) = self._split(F.linear(_take(normed_BTD, positions_BK), weights[:width]))
        key, value = self._split(F.linear(normed_BTD, weights[width:]))
        cosine, sine = (_take(part[:, 0], positions_BK)[:, None] for part in rotation)
        query = _rotate(query, (cosine, sine))
        visible = _rows(visible, positions_BK, hidden_BTD.shape[1])
        return self._update(_take(hidden_BTD, positions_BK), query, _rotate(key, rotation), value, visible)

    def _split(self, projected: Tensor) -> tuple[Tensor, ...]:
        """Projections (B, T, n D) side by side as n tensors (B, H, T, d)."""
        batch, length, _ = projected.shape
        size = self.attention_output.in_features // self.heads
        return projected.view(batch, length, -1, self.heads, size).permute(2, 0, 3, 1, 4).unbind()

    def _update(
        self, hidden_BTD: Tensor, query: Tensor, key: Tensor, value: Tensor, visible: Tensor | str | None
    ) -> Tensor:
        mixed_BHTd = F.scaled_dot_product_attention(
            query,
            key,
            value,
            attn_mask=visible if isinstance(visible, Tensor) else None,
            is_causal=visible == "causal" if isinstance(visible, str) else False,
            dropout_p=self.dropout if self.training else 0.0,
        )
        hidden_BTD = hidden_BTD + self.attention_output(mixed_BHTd.transpose(1, 2).flatten(2))
        value, gate = self.feedforward_input(self.feedforward_norm(hidden_BTD)).chunk(2, dim=-1)
        inner = F.dropout(F.gelu(value) * gate, self.dropout, self.training)
        return hidden_BTD + self.feedforward_output(inner)


class KVCache:
    """Rotated keys and values (B, H, T, d) of the tokens that one layer has read."""

    def __init__(self) -> None:
        self.key: Tensor | None = None
        self.value: Tensor | None = None

    @property
    def length(self) -> int:
        return 0 if self.key is None else self.key.shape[2]

    def extend(self, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        """All keys and values, the new ones last."""
        if self.key is not None and self.value is not None:
            key, value = torch.cat((self.key, key), dim=2), torch.cat((self.value, value), dim=2)
        self.key, self.value = key, value
        return key, value


def norm(config: EncoderConfig) -> nn.LayerNorm:
    return nn.LayerNorm(config.width, eps=config.norm_eps, bias=False)


def _rotate(part_BHTd: Tensor, rotation: Rotation) -> Tensor:
    """Rotary position embedding (Su et al. 2021), pairing each number with the one half a head away."""
    turned_BHTd = part_BHTd.roll(part_BHTd.shape[3] // 2, dims=3)
    return (part_BHTd * rotation[0]).add_(turned_BHTd * rotation[1])


def _take(rows_BTD: Tensor, positions_BK: Tensor) -> Tensor:
    """(B, K, D) of (B or 1, T, D)."""
    batch = positions_BK.shape[0]
    return rows_BTD.expand(batch, -1, -1)[torch.arange(batch, device=positions_BK.device)[:, None], positions_BK]


def _rows(visible: Tensor | str | None, positions_BK: Tensor, length: int) -> Tensor | None:
    """The mask (B, 1, K, T) of the asked positions, or None for all."""
    if visible is None:
        return None
    if isinstance(visible, Tensor):
        return _take(visible[:, 0], positions_BK)[:, None]
    return (torch.arange(length, device=positions_BK.device) <= positions_BK[:, :, None])[:, None]
