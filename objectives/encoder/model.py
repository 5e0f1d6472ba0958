"""The encoder that every objective shares: a pre-norm Transformer with the geometry of ModernBERT.

Token embedding and norm, rotary positions, GeGLU, no biases but the decoder's, first attention norm left out, final
norm; the head is dense, GELU, norm and a decoder tied to the embedding (Warner et al. 2024, "Smarter, Better, Faster,
Longer"). Who sees whom is an argument of `forward`, never a property of the model.

B sequences, T positions, D width, H heads, V vocabulary, N target positions.
"""

from __future__ import annotations

import math
from typing import Literal, cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from objectives.encoder.config import EncoderConfig
from objectives.encoder.layer import KVCache, Layer, Rotation, norm
from objectives.encoder.targets import TargetPositions

Attention = Literal["causal", "bidirectional"] | Tensor
"""Who sees whom: to the left, everybody, or a boolean mask (B, 1, T, T) that is True where row sees column."""


class Encoder(nn.Module):
    """Tokens to hidden states with `forward`, hidden states to features with `head`, features to logits with `decode`.

    Initialised from a normal distribution with standard deviation 0.02, truncated at 3 of them; the projections back
    into the residual stream are scaled by 1 / sqrt(2 * depth) (GPT-2). The same `seed` gives the same weights, whatever
    happened before.
    """

    def __init__(self, config: EncoderConfig, vocabulary_size: int, seed: int) -> None:
        super().__init__()
        self.config = config
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.embedding = nn.Embedding(vocabulary_size, config.width)
            self.embedding_norm = norm(config)
            self.layers = nn.ModuleList(Layer(config, first=index == 0) for index in range(config.depth))
            self.final_norm = norm(config)
            self.head_dense = nn.Linear(config.width, config.width, bias=False)
            self.head_norm = norm(config)
            self.decoder_bias = nn.Parameter(torch.zeros(vocabulary_size))
            for name, parameter in self.named_parameters():
                if parameter.dim() == 2:
                    scale = 1 / math.sqrt(2 * config.depth) if name.endswith("output.weight") else 1.0
                    nn.init.trunc_normal_(parameter, std=0.02 * scale, a=-0.06 * scale, b=0.06 * scale)

    def forward(
        self,
        inputs_BT: Tensor,
        attention: Attention,
        documents_BT: Tensor | None = None,
        targets: TargetPositions | None = None,
    ) -> Tensor:
        """Hidden states (B, T, D) after the final norm, or (N, D) at the target positions alone.

        Args:
            inputs_BT: token ids.
            attention: who sees whom.
            documents_BT: number of the document that each token belongs to, ascending along a row; tokens then see
                no other document, and positions restart with each. None: every row is one document.
            targets: the target positions; where they are few, the last layer computes no others.

        Raises:
            ValueError: when T exceeds max_length.
        """
        self._check_length(inputs_BT.shape[1])
        rotation = self._rotation(_positions(inputs_BT, documents_BT))
        visible = _visible(attention, documents_BT)
        hidden_BTD = self._embed(inputs_BT)
        for layer in self.layers[:-1]:
            hidden_BTD = layer(hidden_BTD, rotation, visible)
        last = cast(Layer, self.layers[-1])
        if targets is None:
            return self.final_norm(last(hidden_BTD, rotation, visible))
        return self.final_norm(last.forward_at(targets, hidden_BTD, rotation, visible))

    def hidden_states(
        self, inputs_BT: Tensor, attention: Attention, documents_BT: Tensor | None, layers: int
    ) -> list[Tensor]:
        """What each of the last `layers` layers hands on, (B, T, D): the residual stream, and of the last one what
        `forward` gives, as in transformers.

        Raises:
            ValueError: when there are not so many layers, or as `forward` does.
        """
        if not 1 <= layers <= len(self.layers):
            raise ValueError(f"{layers} layers are asked for, but the encoder has {len(self.layers)}")
        self._check_length(inputs_BT.shape[1])
        rotation = self._rotation(_positions(inputs_BT, documents_BT))
        visible = _visible(attention, documents_BT)
        hidden_BTD, kept = self._embed(inputs_BT), []
        for number, layer in enumerate(self.layers, start=1):
            hidden_BTD = layer(hidden_BTD, rotation, visible)
            if number > len(self.layers) - layers:
                kept.append(hidden_BTD)
        return [*kept[:-1], self.final_norm(hidden_BTD)]

    def forward_cached(self, inputs_BT: Tensor, caches: list[KVCache]) -> Tensor:
        """Hidden states (B, T, D) of tokens that continue, causally, those in the caches, one a layer.

        The tokens are added to the caches.

        Raises:
            ValueError: when all tokens together exceed max_length.
        """
        cached, length = caches[0].length, inputs_BT.shape[1]
        self._check_length(cached + length)
        rotation = self._rotation(torch.arange(cached, cached + length, device=inputs_BT.device)[None])
        visible = torch.ones(length, cached + length, dtype=torch.bool, device=inputs_BT.device).tril(cached)
        hidden_BTD = self._embed(inputs_BT)
        for layer, cache in zip(self.layers, caches, strict=True):
            hidden_BTD = layer(hidden_BTD, rotation, visible, cache)
        return self.final_norm(hidden_BTD)

    def head(self, hidden_ND: Tensor) -> Tensor:
        """Features (N, D) from which the decoder makes logits; needed at the target positions only."""
        dense_ND = F.gelu(self.head_dense(hidden_ND))
        # Norms are in float32 at least; all others have the residual stream as input, which is.
        return self.head_norm(dense_ND.to(torch.promote_types(dense_ND.dtype, self.head_norm.weight.dtype)))

    def decode(self, features_ND: Tensor) -> Tensor:
        """Logits (N, V)."""
        return F.linear(features_ND, self.embedding.weight, self.decoder_bias)

    def _check_length(self, length: int) -> None:
        if length > self.config.max_length:
            raise ValueError(
                f"{length} tokens are more than the encoder's max_length of {self.config.max_length}; raise "
                f"max_length or shorten the text"
            )

    def _embed(self, inputs_BT: Tensor) -> Tensor:
        return F.dropout(self.embedding_norm(self.embedding(inputs_BT)), self.config.dropout, self.training)

    def _rotation(self, positions_T: Tensor) -> Rotation:
        size = self.config.width // self.config.heads
        exponents = torch.arange(0, size, 2, device=positions_T.device, dtype=torch.float32) / size
        angles = positions_T[:, None, :, None].float() * self.config.rope_theta**-exponents
        cosine, sine = angles.cos(), angles.sin()
        return torch.cat((cosine, cosine), dim=-1), torch.cat((-sine, sine), dim=-1)


def _positions(inputs_BT: Tensor, documents_BT: Tensor | None) -> Tensor:
    """Position of each token in its document, (B, T), or (1, T) when every row is one document."""
    steps_T = torch.arange(inputs_BT.shape[1], device=inputs_BT.device)
    if documents_BT is None:
        return steps_T[None]
    opens_BT = F.pad(documents_BT[:, 1:] != documents_BT[:, :-1], (1, 0), value=True)
    return steps_T - (steps_T * opens_BT).cummax(dim=1).values


def _visible(attention: Attention, documents_BT: Tensor | None) -> Tensor | str | None:
    """What scaled_dot_product_attention needs: a mask (B, 1, T, T), "causal", or None for all."""
    if documents_BT is None:
        return None if isinstance(attention, str) and attention == "bidirectional" else attention
    same_B1TT = (documents_BT[:, :, None] == documents_BT[:, None, :])[:, None]
    if isinstance(attention, Tensor):
        return same_B1TT & attention
    return same_B1TT.tril() if attention == "causal" else same_B1TT
