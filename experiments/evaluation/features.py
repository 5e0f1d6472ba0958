"""What a frozen encoder says of texts, or of parts of them: its hidden states under the attention that the objective
names, pooled over spans of tokens.

B texts, T positions, L layers, D width, N spans.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal, get_args

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from experiments.evaluation.metric import NotMeasured
from objectives import Objective
from objectives.inference.language_model import inference_mode

Pooling = Literal["mean", "first", "last"]
Span = tuple[int, int]
"""Positions [start, end) of `[CLS] ids [SEP]`."""
TOKENS_PER_BATCH = 8192
"""Rows times length of one forward pass."""


def check_use(layers: int, pooling: str) -> None:
    """Raises ValueError when an encoder cannot be used in such a way."""
    if layers < 1:
        raise ValueError(f"layers={layers} must be at least 1: so many of the last layers are read")
    if pooling not in get_args(Pooling):
        raise ValueError(f'pooling="{pooling}" must be one of {", ".join(get_args(Pooling))}')


def whole_text(ids: Sequence[int], pooling: Pooling) -> Span:
    """The span of a text's tokens; of the first position, which is that of [CLS], for the pooling "first"."""
    return (0, 1) if pooling == "first" else (1, len(ids) + 1)


def features(
    objective: Objective,
    texts: Sequence[Sequence[int]],
    spans: Sequence[Sequence[Span]],
    pooling: Pooling,
    layers: int = 1,
) -> NDArray[np.float32]:
    """One row for each span, (N, L · D), in order.

    Args:
        texts: ids without special tokens, of any length that the encoder can read.
        spans: some of each text, none of them empty.
        pooling: the mean over a span, or the state at its first or last position.
        layers: L, so many of the last layers, side by side.

    Raises:
        NotMeasured: when the encoder has fewer layers.
    """
    if layers > (depth := objective.encoder.config.depth):
        raise NotMeasured(f"the last {layers} layers are to be read, but the encoder has {depth}")
    rows: list[NDArray[np.float32]] = [np.empty(0, np.float32)] * len(texts)
    with inference_mode(objective):
        for chunk, tokens_BT in _padded_batches(objective, texts):
            hidden_BTD = objective.read(tokens_BT, layers).float().cpu()
            for row, index in enumerate(chunk):
                rows[index] = _pooled(hidden_BTD[row], spans[index], pooling).numpy()
    return np.concatenate(rows)


def _pooled(states_TD: Tensor, spans: Sequence[Span], pooling: Pooling) -> Tensor:
    """(N, D)"""
    if pooling == "mean" and spans:
        return torch.stack([states_TD[start:end].mean(0) for start, end in spans])
    return states_TD[[start if pooling == "first" else end - 1 for start, end in spans]]


def _padded_batches(objective: Objective, texts: Sequence[Sequence[int]]) -> Iterator[tuple[list[int], Tensor]]:
    """Texts in batches of similar length: their indices, and `[CLS] ids [SEP]`, padded on the right, (B, T)."""
    vocabulary = objective.vocabulary
    order = sorted(range(len(texts)), key=lambda row: len(texts[row]), reverse=True)
    while order:
        length = len(texts[order[0]]) + 2
        count = max(1, TOKENS_PER_BATCH // length)
        chunk, order = order[:count], order[count:]
        tokens_BT = torch.full((len(chunk), length), vocabulary.pad)
        for row, index in enumerate(chunk):
            ids = [vocabulary.cls, *texts[index], vocabulary.sep]
            tokens_BT[row, : len(ids)] = torch.tensor(ids)
        yield chunk, tokens_BT.to(objective.device)
