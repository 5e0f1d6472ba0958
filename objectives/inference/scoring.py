"""Log-probabilities of sentences: the chain rule for causal models, the pseudo-log-likelihood (PLL) for masked ones.

Sentences are token ids without special tokens. Scores are natural logarithms (nats), one for each token; None where a
token has no score, as the first one of a model without a beginning-of-sentence token. They depend neither on the batch
size nor on the other sentences. The log-softmax is in float32, sums are in float64.

Each method is a `Scorer`, which scores a batch of pieces; `score_pieces` makes the batches.

S sentences, R rows, T positions, N target positions, V vocabulary.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar, Literal, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from objectives.inference.language_model import LanguageModel, inference_mode

TOKENS_PER_BATCH = 4096
"""Rows times length of one forward pass."""
LOGITS_PER_BATCH = 2**22
"""Target positions times vocabulary of one forward pass."""

METHODS = ("chain_rule", "pll", "pll_word_l2r")
"""The names by which `Traits.scores` and `score_sentences` know the methods."""

Scores = list[float | None]
Context = Literal["past", "both"]
"""Which context of a token counts when a window is chosen for it: the past, or the shorter of both sides."""
Progress = Callable[[int], Any]
"""Called with the number of tokens that have been through the model since the last call; windows overlap."""


def score_sentences(
    model: LanguageModel,
    sentences: Sequence[Sequence[int]],
    method: str,
    words: Sequence[Sequence[int]] | None = None,
    end: bool = False,
    window: bool = False,
    progress: Progress = lambda tokens: None,
) -> list[Scores]:
    """Scores by one of METHODS. The arguments are those of `chain_rule` and `pseudo_log_likelihood`.

    `end` matters to chain_rule only; `words` to pll_word_l2r only, which needs them.

    Raises:
        ValueError: when there is no such method, pll_word_l2r is given no words, or the method refuses the model or a
            sentence.
    """
    if method not in METHODS:
        raise ValueError(f"there is no method {method!r} to score sentences by; use one of {', '.join(METHODS)}")
    if method == "chain_rule":
        return chain_rule(model, sentences, end, window, progress)
    if method == "pll":
        return pseudo_log_likelihood(model, sentences, None, window, progress)
    if words is None:
        raise ValueError("pll_word_l2r needs the number of the word that each token belongs to")
    return pseudo_log_likelihood(model, sentences, words, window, progress)


def chain_rule(
    model: LanguageModel,
    sentences: Sequence[Sequence[int]],
    end: bool = False,
    window: bool = False,
    progress: Progress = lambda tokens: None,
) -> list[Scores]:
    """log p(x_t | x_<t) of each token, after the beginning-of-sentence token; their sum is log p(x).

    Args:
        model: a causal model.
        sentences: ids of each sentence.
        end: whether the end of the sentence is scored too, as one more token.
        window: whether to score a sentence that is too long in overlapping windows, each token in the window that holds
            most of its past, instead of refusing it. Each window has the special tokens of a sentence.
        progress: told of the tokens scored.

    Raises:
        ValueError: when the model is not causal, has no end token to score, or a sentence is too long.
    """
    if not model.causal:
        raise ValueError("this model reads both ways and defines no joint probability; score it by pll or pll_word_l2r")
    if end and model.end_of_text is None:
        raise ValueError("this model has no token for the end of a sentence")
    _refuse_unscorable(model, sentences, window)
    closing = (model.end_of_text,) if end and model.end_of_text is not None else ()
    pieces = [Piece((*sentence, *closing)) for sentence in sentences]
    return score_pieces(ChainRuleScorer(model), pieces, model.max_tokens + len(closing), progress)


def pseudo_log_likelihood(
    model: LanguageModel,
    sentences: Sequence[Sequence[int]],
    words: Sequence[Sequence[int]] | None = None,
    window: bool = False,
    progress: Progress = lambda tokens: None,
) -> list[Scores]:
    """log p(x_t | the other tokens) of each token, predicted alone under [MASK] (Salazar et al. 2020).

    Args:
        model: a masked model.
        sentences: ids of each sentence.
        words: the number of the word that each token belongs to; later tokens of the same word are then masked too
            (PLL-word-l2r, Kauf & Ivanova 2023).
        window: whether to score a sentence that is too long in overlapping windows, each token in the window that holds
            most of both its sides, instead of refusing it. Each window has the special tokens of a sentence.
        progress: told of the tokens scored.

    Raises:
        ValueError: when the model is causal, has no mask token, or a sentence is too long.
    """
    if model.causal:
        raise ValueError("this model reads from left to right and has no pseudo-log-likelihood; score it by chain_rule")
    if model.mask is None:
        raise ValueError("this model's tokenizer has no mask token, which the pseudo-log-likelihood needs")
    _refuse_unscorable(model, sentences, window)
    if words is None:
        words = [range(len(sentence)) for sentence in sentences]
    pieces = [Piece(tuple(tokens), tuple(numbers)) for tokens, numbers in zip(sentences, words, strict=True)]
    return score_pieces(PseudoLogLikelihoodScorer(model, model.mask), pieces, model.max_tokens, progress)


def total(scores: Sequence[float | None]) -> float:
    """The score of a sentence: the sum over its scored tokens, in float64; 0 when there are none."""
    return math.fsum(value for value in scores if value is not None)


def perplexity(nats: float, tokens: int) -> float | None:
    """exp(−nats / tokens) of a summed log-probability, or pseudo-perplexity of a summed PLL; None for no tokens."""
    if tokens == 0:
        return None
    mean = -nats / tokens
    return math.inf if mean > 700 else math.exp(mean)


class Window(NamedTuple):
    """Tokens [start, end) are read together; those of [first, last) are scored there."""

    start: int
    end: int
    first: int
    last: int


class Piece(NamedTuple):
    """Tokens that are read in one row: a sentence, or a window of it."""

    tokens: tuple[int, ...]
    words: tuple[int, ...] = ()
    """The number of the word that each token belongs to; only the pseudo-log-likelihood uses it."""

    def cut(self, window: Window) -> Piece:
        """The tokens that a window shows."""
        return Piece(self.tokens[window.start : window.end], self.words[window.start : window.end])


class Scorer(ABC):
    """How pieces are scored, a batch at a time."""

    context: ClassVar[Context]
    equal_lengths: ClassVar[bool]
    """Whether all pieces of a batch must be of one length."""

    def __init__(self, model: LanguageModel) -> None:
        self.model = model

    @abstractmethod
    def batch_size(self, length: int) -> int:
        """Number of pieces of `length` tokens that fit into a batch."""

    @abstractmethod
    def score_batch(self, pieces: Sequence[Piece]) -> list[Scores]:
        """Scores of each token of each piece."""


class ChainRuleScorer(Scorer):
    """One row a piece, padded on the right of its targets, where a causal model does not look."""

    context = "past"
    equal_lengths = False

    def batch_size(self, length: int) -> int:
        rows = TOKENS_PER_BATCH // (len(self.model.bos) + length)
        return min(rows, LOGITS_PER_BATCH // (length * self.model.vocabulary_size))

    def score_batch(self, pieces: Sequence[Piece]) -> list[Scores]:
        model, longest = self.model, max(len(piece.tokens) for piece in pieces)
        rows = [[*model.bos, *tokens, *[tokens[-1]] * (longest - len(tokens))] for tokens, _ in pieces]
        rows_RT = torch.tensor(rows, device=model.device)
        targeted_RT = self._targeted(pieces, longest)
        unscored: Scores = [] if model.bos else [None]
        if not targeted_RT.any():  # single tokens without a beginning of sentence
            return [unscored for _ in pieces]
        scores_N = _log_probabilities(model.logits(rows_RT[:, :-1], targeted_RT), rows_RT[:, 1:][targeted_RT])
        return [unscored + part.tolist() for part in scores_N.split(targeted_RT.sum(1).tolist())]

    def _targeted(self, pieces: Sequence[Piece], longest: int) -> Tensor:
        """True at the positions whose next token is one of the piece, (R, T - 1)."""
        begin, device = len(self.model.bos), self.model.device
        ends_R1 = torch.tensor([[begin + len(piece.tokens)] for piece in pieces], device=device)
        next_T = torch.arange(1, begin + longest, device=device)
        return (next_T >= begin) & (next_T < ends_R1)


class PseudoLogLikelihoodScorer(Scorer):
    """One row a token: a copy of its piece in which it is masked."""

    context = "both"
    equal_lengths = True

    def __init__(self, model: LanguageModel, mask: int) -> None:
        super().__init__(model)
        self.mask = mask

    def batch_size(self, length: int) -> int:
        return TOKENS_PER_BATCH // (length * (len(self.model.bos) + length + len(self.model.eos)))

    def score_batch(self, pieces: Sequence[Piece]) -> list[Scores]:
        inputs_RT, targeted_RT = self._masked_copies(pieces)
        targets_R = torch.tensor([piece.tokens for piece in pieces], device=self.model.device).flatten()
        size = max(1, min(TOKENS_PER_BATCH // inputs_RT.shape[1], LOGITS_PER_BATCH // self.model.vocabulary_size))
        batches = zip(inputs_RT.split(size), targeted_RT.split(size), targets_R.split(size), strict=True)
        scores_R = torch.cat(
            [_log_probabilities(self.model.logits(inputs, targeted), targets) for inputs, targeted, targets in batches]
        )
        return scores_R.view(len(pieces), -1).tolist()

    def _masked_copies(self, pieces: Sequence[Piece]) -> tuple[Tensor, Tensor]:
        """A copy of a piece for each of its tokens, and where that token is in it; both (R, T).

        A copy masks its token and what follows of the same word.
        """
        model, length = self.model, len(pieces[0].tokens)
        clean_ST = torch.tensor([[*model.bos, *piece.tokens, *model.eos] for piece in pieces], device=model.device)
        words_SL = torch.tensor([piece.words for piece in pieces], device=model.device)
        margins = (len(model.bos), len(model.eos))
        masked_SLT = F.pad((words_SL[:, :, None] == words_SL[:, None, :]).triu(), margins)
        targeted_LT = F.pad(torch.eye(length, dtype=torch.bool, device=model.device), margins)
        inputs_RT = clean_ST.repeat_interleave(length, 0).masked_fill(masked_SLT.flatten(0, 1), self.mask)
        return inputs_RT, targeted_LT.repeat(len(pieces), 1)


def score_pieces(scorer: Scorer, sentences: Sequence[Piece], max_tokens: int, progress: Progress) -> list[Scores]:
    """Scores of each token of each sentence, in windows of at most `max_tokens`."""
    plans = [windows(len(sentence.tokens), max_tokens, scorer.context) for sentence in sentences]
    pieces = [[sentence.cut(window) for window in plan] for sentence, plan in zip(sentences, plans, strict=True)]
    scored = _score_distinct(scorer, (piece for parts in pieces for piece in parts), progress)
    return [
        [
            value
            for piece, window in zip(parts, plan, strict=True)
            for value in scored[piece][window.first - window.start : window.last - window.start]
        ]
        for parts, plan in zip(pieces, plans, strict=True)
    ]


def _score_distinct(scorer: Scorer, pieces: Iterable[Piece], progress: Progress) -> dict[Piece, Scores]:
    """Scores of each piece: equal ones are scored once, those of similar length together."""
    waiting = sorted(dict.fromkeys(pieces), key=lambda piece: len(piece.tokens), reverse=True)
    scored: dict[Piece, Scores] = {}
    with inference_mode(scorer.model.module):
        while waiting:
            longest = len(waiting[0].tokens)
            batch = waiting[: max(1, scorer.batch_size(longest))]
            if scorer.equal_lengths:
                batch = [piece for piece in batch if len(piece.tokens) == longest]
            del waiting[: len(batch)]
            scored.update(zip(batch, scorer.score_batch(batch), strict=True))
            progress(sum(len(piece.tokens) for piece in batch))
    return scored


def windows(length: int, max_tokens: int, context: Context) -> list[Window]:
    """Windows of at most `max_tokens` tokens, each half a window further, the last one flush with the end.

    Each token is scored in the window that shows most of its context. One window for a sentence that fits, none for an
    empty one.
    """
    if length == 0:
        return []
    starts = [*range(0, length - max_tokens, max(1, max_tokens // 2)), max(0, length - max_tokens)]
    ends = [min(length, start + max_tokens) for start in starts]
    overlaps = list(zip(starts[1:], ends[:-1], strict=True))
    cuts = [0, *(end if context == "past" else (start + end) // 2 for start, end in overlaps), length]
    return [Window(*bounds) for bounds in zip(starts, ends, cuts[:-1], cuts[1:], strict=True)]


def _refuse_unscorable(model: LanguageModel, sentences: Sequence[Sequence[int]], window: bool) -> None:
    for number, sentence in enumerate(sentences, start=1):
        if model.bos and tuple(sentence[: len(model.bos)]) == model.bos:
            raise ValueError(f"sentence {number} begins with a special token; give ids without special tokens")
        if len(sentence) > model.max_tokens and not window:
            raise ValueError(
                f"sentence {number} has {len(sentence)} tokens, but the model has room for {model.max_tokens} besides "
                f"special tokens; shorten it, or score it in windows"
            )


def _log_probabilities(logits_NV: Tensor, targets_N: Tensor) -> Tensor:
    """log p of each target, (N,) float32."""
    return -F.cross_entropy(logits_NV, targets_N, reduction="none")
