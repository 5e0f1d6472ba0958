"""How probable a model finds a sentence: the chain rule for CLM, the pseudo-log-likelihood for MLM.

Scores are natural logarithms, one for each token of a sentence, special tokens excepted; sum them for the sentence.
They do not depend on batch size or on the other sentences.

R rows, T positions, D width, N asked positions.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

if TYPE_CHECKING:
    from objectives.base import Objective

TOKENS_PER_BATCH = 8192
"""Rows times length of one forward pass."""


def chain_rule(objective: Objective, sentences: Sequence[Sequence[int]]) -> list[list[float]]:
    """log p(x_t | [CLS], x_<t) of each token.

    Args:
        objective: a model that reads causally.
        sentences: ids of each sentence, without special tokens.

    Raises:
        ValueError: when a sentence with [CLS] and [SEP] is longer than the encoder's max_length.
    """
    scores: list[list[float]] = [[] for _ in sentences]
    with evaluating(objective), torch.inference_mode():
        for rows, clean_RT in padded_batches(objective, sentences):
            lengths_R = torch.tensor([len(sentences[row]) for row in rows], device=clean_RT.device)
            before_RT = torch.arange(clean_RT.shape[1], device=clean_RT.device) < lengths_R[:, None]
            hidden_ND = objective.read(clean_RT)[before_RT]
            values = _log_probabilities(objective, hidden_ND, clean_RT[before_RT.roll(1, dims=1)])
            for row in rows:
                scores[row], values = values[: len(sentences[row])], values[len(sentences[row]) :]
    return scores


def pseudo_log_likelihood(objective: Objective, sentences: Sequence[Sequence[int]]) -> list[list[float]]:
    """log p(x_t | all other tokens) of each token, asked one at a time under [MASK] (Salazar et al. 2020).

    Args:
        objective: a model that reads both ways.
        sentences: ids of each sentence, without special tokens.

    Raises:
        ValueError: when a sentence with [CLS] and [SEP] is longer than the encoder's max_length.
    """
    asked = [(index, position) for index, sentence in enumerate(sentences) for position in range(len(sentence))]
    scores = [[0.0] * len(sentence) for sentence in sentences]
    with evaluating(objective), torch.inference_mode():
        for rows, clean_RT in padded_batches(objective, [sentences[index] for index, _ in asked]):
            positions_R = torch.tensor([asked[row][1] + 1 for row in rows], device=clean_RT.device)
            asked_RT = torch.arange(clean_RT.shape[1], device=clean_RT.device) == positions_R[:, None]
            inputs_RT = clean_RT.masked_fill(asked_RT, objective.vocabulary.mask)
            hidden_ND = objective.read(clean_RT, inputs_RT)[asked_RT]
            for row, value in zip(rows, _log_probabilities(objective, hidden_ND, clean_RT[asked_RT]), strict=True):
                scores[asked[row][0]][asked[row][1]] = value
    return scores


@contextmanager
def evaluating(module: nn.Module) -> Iterator[None]:
    """Put a module in eval mode, and back into the mode it was in."""
    mode = module.training
    module.eval()
    try:
        yield
    finally:
        module.train(mode)


def padded_batches(objective: Objective, sentences: Sequence[Sequence[int]]) -> Iterator[tuple[list[int], Tensor]]:
    """Sentences in batches of similar length: their indices, and `[CLS] ids [SEP]`, padded on the right, (R, T)."""
    vocabulary = objective.vocabulary
    order = sorted(range(len(sentences)), key=lambda row: len(sentences[row]), reverse=True)
    if order and (longest := len(sentences[order[0]]) + 2) > objective.encoder.config.max_length:
        raise ValueError(
            f"a sentence of {longest} tokens, [CLS] and [SEP] included, is longer than the encoder's max_length of "
            f"{objective.encoder.config.max_length}; shorten it"
        )
    while order:
        length = len(sentences[order[0]]) + 2
        count = max(1, TOKENS_PER_BATCH // length)
        rows, order = order[:count], order[count:]
        clean_RT = torch.full((len(rows), length), vocabulary.pad)
        for row, index in enumerate(rows):
            ids = [vocabulary.cls, *sentences[index], vocabulary.sep]
            clean_RT[row, : len(ids)] = torch.tensor(ids)
        yield rows, clean_RT.to(objective.device)


def _log_probabilities(objective: Objective, hidden_ND: Tensor, targets_N: Tensor) -> list[float]:
    """log p of each target from the hidden state at its question."""
    logits_NV = objective.encoder.decode(objective.encoder.head(hidden_ND)).float()
    return logits_NV.log_softmax(-1).gather(1, targets_N[:, None]).squeeze(1).tolist()
