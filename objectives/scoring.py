"""How probable a model finds sentences: the chain rule for CLM, the pseudo-log-likelihood (PLL) for MLM.

Sentences are token ids without special tokens. Scores are natural logarithms (nats), one for each token; None where a
token has no score, which is the first one of a model that knows no token for the beginning. They do not depend on
batch size, or on the other sentences. The log-softmax is in float32, sums are in float64.

S sentences, R rows, T positions, K asked positions, V vocabulary.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any, Literal

import torch
import torch.nn.functional as F
from torch import Tensor

from objectives.reader import Reader, answering
from objectives.windows import windows

TOKENS_PER_BATCH = 4096
"""Rows times length of one forward pass."""
LOGITS_PER_BATCH = 2**24
"""Asked positions times vocabulary of one forward pass."""

Scores = list[float | None]
Progress = Callable[[int], Any]
"""Called with a number of tokens whenever so many more are scored."""


def chain_rule(
    reader: Reader,
    sentences: Sequence[Sequence[int]],
    end: bool = False,
    window: bool = False,
    progress: Progress = lambda tokens: None,
) -> list[Scores]:
    """log p(x_t | x_<t) of each token, a beginning-of-sentence token in front; their sum is log p(x).

    Args:
        reader: a causal model.
        sentences: ids of each sentence.
        end: whether the end of the sentence is scored too, as one token more.
        window: whether to score a sentence that is too long in overlapping windows, each token in the one that shows
            most of its past, instead of refusing it.
        progress: told how many tokens were scored.

    Raises:
        ValueError: when the model is not causal, has no end token to score, or a sentence is too long.
    """
    if not reader.causal:
        raise ValueError("this model reads both ways and defines no joint probability; score it by pll or pll_word_l2r")
    if end and reader.end is None:
        raise ValueError("this model has no token for the end of a sentence")
    closing = [reader.end] if end else []
    begins = len(reader.before)

    def score_alike(pieces: list[tuple[int, ...]]) -> list[Scores]:
        rows_RT = torch.tensor([[*reader.before, *piece] for piece in pieces], device=reader.device)
        inputs_RT, targets_RK = rows_RT[:, :-1], rows_RT[:, max(1, begins) :]
        unscored: Scores = [] if begins else [None]
        if not targets_RK.numel():  # one token, and nothing in front of it
            return [unscored for _ in pieces]
        asked_K = torch.arange(max(1, begins) - 1, inputs_RT.shape[1], device=reader.device)
        values = _log_probabilities(reader.logits(inputs_RT, asked_K.expand(len(pieces), -1)), targets_RK)
        return [unscored + row for row in values.tolist()]

    def most_rows(length: int) -> int:
        return min(TOKENS_PER_BATCH // (begins + length), LOGITS_PER_BATCH // (length * reader.vocabulary_size))

    whole = [(*sentence, *closing) for sentence in sentences]
    room = reader.room + len(closing)
    if not window:
        _refuse_long(whole, room)
    return _each_once(reader, whole, room, "past", most_rows, score_alike, progress)


def pseudo_log_likelihood(
    reader: Reader,
    sentences: Sequence[Sequence[int]],
    words: Sequence[Sequence[int]] | None = None,
    window: bool = False,
    progress: Progress = lambda tokens: None,
) -> list[Scores]:
    """log p(x_t | the other tokens) of each token, asked one at a time under [MASK] (Salazar et al. 2020).

    Args:
        reader: a model that reads both ways.
        sentences: ids of each sentence.
        words: the number of the word that each token belongs to; later tokens of the same word are then hidden too
            (PLL-word-l2r, Kauf & Ivanova 2023).
        window: whether to score a sentence that is too long in overlapping windows, each token in the one that shows
            most of both its sides, instead of refusing it.
        progress: told how many tokens were scored.

    Raises:
        ValueError: when the model is causal, has no mask token, or a sentence is too long.
    """
    if reader.causal:
        raise ValueError("this model reads from left to right and has no pseudo-log-likelihood; score it by chain_rule")
    if reader.mask is None:
        raise ValueError("this model's tokenizer has no mask token, which the pseudo-log-likelihood needs")
    mask, begins, ends = reader.mask, len(reader.before), len(reader.after)

    def score_alike(pieces: list[tuple[tuple[int, int], ...]]) -> list[Scores]:
        ids_ST, words_ST = torch.tensor(pieces, device=reader.device).unbind(-1)
        count, length = ids_ST.shape
        row = torch.tensor([*reader.before, *[0] * length, *reader.after], device=reader.device)
        clean_ST = row.repeat(count, 1)
        clean_ST[:, begins : begins + length] = ids_ST
        # Copy t of a sentence hides token t, and what follows of its word.
        hidden_STT = F.pad((words_ST[:, :, None] == words_ST[:, None, :]).triu(), (begins, ends))
        inputs_RT = clean_ST.repeat_interleave(length, 0).masked_fill(hidden_STT.flatten(0, 1), mask)
        asked_R1 = torch.arange(begins, begins + length, device=reader.device).repeat(count)[:, None]
        rows = max(1, min(TOKENS_PER_BATCH // len(row), LOGITS_PER_BATCH // reader.vocabulary_size))
        batches = zip(inputs_RT.split(rows), asked_R1.split(rows), ids_ST.reshape(-1, 1).split(rows), strict=True)
        values = [_log_probabilities(reader.logits(inputs, asked), targets) for inputs, asked, targets in batches]
        return torch.cat(values).view(count, length).tolist()

    def most_sentences(length: int) -> int:
        return TOKENS_PER_BATCH // (length * (begins + length + ends))

    numbered = [
        tuple(zip(sentence, words[index] if words is not None else range(len(sentence)), strict=True))
        for index, sentence in enumerate(sentences)
    ]
    if not window:
        _refuse_long(numbered, reader.room)
    return _each_once(reader, numbered, reader.room, "both", most_sentences, score_alike, progress)


def total(scores: Sequence[float | None]) -> float:
    """The score of a sentence: the sum over its scored tokens, in float64; 0 when there are none."""
    return math.fsum(value for value in scores if value is not None)


def perplexity(nats: float, tokens: int) -> float | None:
    """exp(−nats / tokens) of a summed log-probability, or pseudo-perplexity of a summed PLL; None for no tokens."""
    if tokens == 0:
        return None
    mean = -nats / tokens
    return math.exp(mean) if mean < 700 else math.inf


def _each_once(
    reader: Reader,
    sentences: Sequence[tuple[Any, ...]],
    room: int,
    context: Literal["past", "both"],
    at_once: Callable[[int], int],
    score_alike: Callable[[list[Any]], list[Scores]],
    progress: Progress,
) -> list[Scores]:
    """Score what the sentences are cut into: equal pieces once, pieces of equal length together."""
    plans = [windows(len(sentence), room, context) for sentence in sentences]
    alike: dict[int, dict[tuple[Any, ...], None]] = defaultdict(dict)
    for sentence, plan in zip(sentences, plans, strict=True):
        for window in plan:
            alike[window.end - window.start][sentence[window.start : window.end]] = None
    scored: dict[tuple[Any, ...], Scores] = {}
    with answering(reader.module):
        for length, pieces in alike.items():
            waiting, count = list(pieces), max(1, at_once(length))
            for start in range(0, len(waiting), count):
                batch = waiting[start : start + count]
                scored.update(zip(batch, score_alike(batch), strict=True))
                progress(len(batch) * length)
    return [
        [value for w in plan for value in scored[sentence[w.start : w.end]][w.first - w.start : w.last - w.start]]
        for sentence, plan in zip(sentences, plans, strict=True)
    ]


def _refuse_long(sentences: Sequence[tuple[Any, ...]], room: int) -> None:
    for number, sentence in enumerate(sentences, start=1):
        if len(sentence) > room:
            raise ValueError(
                f"sentence {number} has {len(sentence)} tokens, but the model has room for {room} beside special "
                f"tokens; shorten it, or ask for windows"
            )


def _log_probabilities(logits_RKV: Tensor, targets_RK: Tensor) -> Tensor:
    """log p of each target, (R, K) float32."""
    return -F.cross_entropy(logits_RKV.flatten(0, 1), targets_RK.flatten(), reduction="none").view_as(targets_RK)
