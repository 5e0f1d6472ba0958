"""How probable a model finds sentences: the chain rule for CLM, the pseudo-log-likelihood (PLL) for MLM.

Sentences are token ids without special tokens. Scores are natural logarithms (nats), one for each token; None where a
token has no score, which is the first one of a model that knows no token for the beginning. They do not depend on
batch size, or on the other sentences. The log-softmax is in float32, sums are in float64.

S sentences, R rows, T positions, N asked positions, V vocabulary.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Literal

import torch
import torch.nn.functional as F
from torch import Tensor

from objectives.inference.language_model import LanguageModel, inference_mode
from objectives.inference.windows import windows

TOKENS_PER_BATCH = 4096
"""Rows times length of one forward pass."""
LOGITS_PER_BATCH = 2**22
"""Asked positions times vocabulary of one forward pass."""

Scores = list[float | None]
Progress = Callable[[int], Any]
"""Called with a number of tokens whenever so many more have been through the model; windows overlap."""


def chain_rule(
    model: LanguageModel,
    sentences: Sequence[Sequence[int]],
    end: bool = False,
    window: bool = False,
    progress: Progress = lambda tokens: None,
) -> list[Scores]:
    """log p(x_t | x_<t) of each token, a beginning-of-sentence token in front; their sum is log p(x).

    Args:
        model: a causal model.
        sentences: ids of each sentence.
        end: whether the end of the sentence is scored too, as one token more.
        window: whether to score a sentence that is too long in overlapping windows, each token in the one that shows
            most of its past, instead of refusing it. Each window begins like a sentence.
        progress: told how far it is.

    Raises:
        ValueError: when the model is not causal, has no end token to score, or a sentence is too long.
    """
    if not model.causal:
        raise ValueError("this model reads both ways and defines no joint probability; score it by pll or pll_word_l2r")
    if end and model.end_of_text is None:
        raise ValueError("this model has no token for the end of a sentence")
    closing = [model.end_of_text] if end else []
    begins = len(model.bos)

    def score_batch(pieces: list[tuple[int, ...]]) -> list[Scores]:
        lengths = [len(piece) for piece in pieces]
        # What fills up a row is behind all that is asked, where a causal model does not look.
        rows_RT = torch.tensor(
            [[*model.bos, *piece, *[piece[-1]] * (max(lengths) - len(piece))] for piece in pieces],
            device=model.device,
        )
        inputs_RT, places_T = rows_RT[:, :-1], torch.arange(rows_RT.shape[1] - 1, device=model.device)
        targeted_RT = (places_T >= begins - 1) & (
            places_T < torch.tensor(lengths, device=model.device)[:, None] + begins - 1
        )
        unscored: Scores = [] if begins else [None]
        if not targeted_RT.any():  # single tokens, and nothing in front of them
            return [unscored for _ in pieces]
        values = _log_probabilities(model.logits(inputs_RT, targeted_RT), rows_RT[:, 1:][targeted_RT])
        return [unscored + part.tolist() for part in values.split([length - len(unscored) for length in lengths])]

    def at_once(length: int) -> int:
        return min(TOKENS_PER_BATCH // (begins + length), LOGITS_PER_BATCH // (length * model.vocabulary_size))

    whole = [(*sentence, *closing) for sentence in sentences]
    room = model.max_tokens
    _refuse(model, sentences, room if not window else None)
    return _each_once(model, whole, room + len(closing), "past", at_once, score_batch, progress)


def pseudo_log_likelihood(
    model: LanguageModel,
    sentences: Sequence[Sequence[int]],
    words: Sequence[Sequence[int]] | None = None,
    window: bool = False,
    progress: Progress = lambda tokens: None,
) -> list[Scores]:
    """log p(x_t | the other tokens) of each token, asked one at a time under [MASK] (Salazar et al. 2020).

    Args:
        model: a model that reads both ways.
        sentences: ids of each sentence.
        words: the number of the word that each token belongs to; later tokens of the same word are then hidden too
            (PLL-word-l2r, Kauf & Ivanova 2023).
        window: whether to score a sentence that is too long in overlapping windows, each token in the one that shows
            most of both its sides, instead of refusing it. Each window begins and ends like a sentence.
        progress: told how far it is.

    Raises:
        ValueError: when the model is causal, has no mask token, or a sentence is too long.
    """
    if model.causal:
        raise ValueError("this model reads from left to right and has no pseudo-log-likelihood; score it by chain_rule")
    if model.mask is None:
        raise ValueError("this model's tokenizer has no mask token, which the pseudo-log-likelihood needs")
    mask, begins, ends = model.mask, len(model.bos), len(model.eos)

    def score_batch(pieces: list[tuple[tuple[int, int], ...]]) -> list[Scores]:
        ids_ST, words_ST = torch.tensor(pieces, device=model.device).unbind(-1)
        count, length = ids_ST.shape
        row = torch.tensor([*model.bos, *[0] * length, *model.eos], device=model.device)
        clean_ST = row.repeat(count, 1)
        clean_ST[:, begins : begins + length] = ids_ST
        # Copy t of a sentence asks for token t, and hides it with what follows of its word.
        targeted_TT = F.pad(torch.eye(length, dtype=torch.bool, device=model.device), (begins, ends))
        hidden_STT = F.pad((words_ST[:, :, None] == words_ST[:, None, :]).triu(), (begins, ends))
        inputs_RT = clean_ST.repeat_interleave(length, 0).masked_fill(hidden_STT.flatten(0, 1), mask)
        rows = max(1, min(TOKENS_PER_BATCH // len(row), LOGITS_PER_BATCH // model.vocabulary_size))
        parts = (part.split(rows) for part in (inputs_RT, targeted_TT.repeat(count, 1), ids_ST.flatten()))
        values = [
            _log_probabilities(model.logits(rows_RT, asked), ids) for rows_RT, asked, ids in zip(*parts, strict=True)
        ]
        return torch.cat(values).view(count, length).tolist()

    def at_once(length: int) -> int:
        return TOKENS_PER_BATCH // (length * (begins + length + ends))

    numbered = [
        tuple(zip(sentence, words[index] if words is not None else range(len(sentence)), strict=True))
        for index, sentence in enumerate(sentences)
    ]
    _refuse(model, sentences, model.max_tokens if not window else None)
    return _each_once(model, numbered, model.max_tokens, "both", at_once, score_batch, progress, alike=True)


def total(scores: Sequence[float | None]) -> float:
    """The score of a sentence: the sum over its scored tokens, in float64; 0 when there are none."""
    return math.fsum(value for value in scores if value is not None)


def perplexity(nats: float, tokens: int) -> float | None:
    """exp(−nats / tokens) of a summed log-probability, or pseudo-perplexity of a summed PLL; None for no tokens."""
    if tokens == 0:
        return None
    mean = -nats / tokens
    return math.inf if mean > 700 else math.exp(mean)


def _each_once(
    model: LanguageModel,
    sentences: Sequence[tuple[Any, ...]],
    room: int,
    context: Literal["past", "both"],
    at_once: Callable[[int], int],
    score_batch: Callable[[list[Any]], list[Scores]],
    progress: Progress,
    alike: bool = False,
) -> list[Scores]:
    """Score the pieces that sentences are cut into: equal ones once, those of similar length together.

    Args:
        at_once: how many pieces of a length go into a batch.
        score_batch: scores a batch.
        alike: whether all pieces of a batch must be of one length.
    """
    plans = [windows(len(sentence), room, context) for sentence in sentences]
    pieces = dict.fromkeys(
        sentence[w.start : w.end] for sentence, plan in zip(sentences, plans, strict=True) for w in plan
    )
    scored: dict[tuple[Any, ...], Scores] = {}
    waiting = sorted(pieces, key=len, reverse=True)
    with inference_mode(model.module):
        while waiting:
            count = max(1, at_once(len(waiting[0])))
            batch = [piece for piece in waiting[:count] if not alike or len(piece) == len(waiting[0])]
            del waiting[: len(batch)]
            scored.update(zip(batch, score_batch(batch), strict=True))
            progress(sum(map(len, batch)))
    return [
        [value for w in plan for value in scored[sentence[w.start : w.end]][w.first - w.start : w.last - w.start]]
        for sentence, plan in zip(sentences, plans, strict=True)
    ]


def _refuse(model: LanguageModel, sentences: Sequence[Sequence[int]], room: int | None) -> None:
    begins = len(model.bos)
    for number, sentence in enumerate(sentences, start=1):
        if begins and tuple(sentence[:begins]) == model.bos:
            raise ValueError(f"sentence {number} begins with a special token; give ids without special tokens")
        if room is not None and len(sentence) > room:
            raise ValueError(
                f"sentence {number} has {len(sentence)} tokens, but the model has room for {room} beside special "
                f"tokens; shorten it, or ask for windows"
            )


def _log_probabilities(logits_NV: Tensor, targets_N: Tensor) -> Tensor:
    """log p of each target, (N,) float32."""
    return -F.cross_entropy(logits_NV, targets_N, reduction="none")


def score_sentences(model: LanguageModel, sentences: Sequence[Sequence[int]], method: str) -> list[Scores]:
    """Scores of each token by one of METHODS; raises as they do."""
    return METHODS[method](model, sentences)


METHODS: dict[str, Callable[..., list[Scores]]] = {"chain_rule": chain_rule, "pll": pseudo_log_likelihood}
