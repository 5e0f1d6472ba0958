"""How many sentences are scored together: as pieces that fit into the model, equal ones once, in batches.

R rows, T positions, N target positions, V vocabulary.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar, Literal, NamedTuple

import torch.nn.functional as F
from torch import Tensor

from objectives.inference.language_model import LanguageModel, inference_mode

TOKENS_PER_BATCH = 4096
"""Rows times length of one forward pass."""
LOGITS_PER_BATCH = 2**22
"""Target positions times vocabulary of one forward pass."""


class Scores(list[float | None]):
    """The score of each token of a text, None where it has none."""

    def __init__(self, values: Iterable[float | None] = (), standard_error: float = 0.0) -> None:
        super().__init__(values)
        self.standard_error = standard_error
        """Of their sum, over the draws that a score is estimated by; 0 where it is exact."""


Context = Literal["past", "both"]
"""Which context of a token counts when a window is chosen for it: the past, or the shorter of both sides."""
Progress = Callable[[int], Any]
"""Called with the number of tokens that have been through the model since the last call; windows overlap."""


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


def score_pieces(scorer: Scorer, sentences: Sequence[Piece], max_tokens: int, progress: Progress) -> list[Scores]:
    """Scores of each token of each sentence, in windows of at most `max_tokens`."""
    plans = [windows(len(sentence.tokens), max_tokens, scorer.context) for sentence in sentences]
    pieces = [[sentence.cut(window) for window in plan] for sentence, plan in zip(sentences, plans, strict=True)]
    scored = _score_distinct(scorer, (piece for parts in pieces for piece in parts), progress)
    return [
        Scores(
            (
                value
                for piece, window in zip(parts, plan, strict=True)
                for value in scored[piece][window.first - window.start : window.last - window.start]
            ),
            math.hypot(*(scored[piece].standard_error for piece in parts)),
        )
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


def refuse_unscorable(model: LanguageModel, sentences: Sequence[Sequence[int]], window: bool) -> None:
    for number, sentence in enumerate(sentences, start=1):
        if model.bos and tuple(sentence[: len(model.bos)]) == model.bos:
            raise ValueError(f"sentence {number} begins with a special token; give ids without special tokens")
        if len(sentence) > model.max_tokens and not window:
            raise ValueError(
                f"sentence {number} has {len(sentence)} tokens, but the model has room for {model.max_tokens} besides "
                f"special tokens; shorten it, or score it in windows"
            )


def log_probabilities(logits_NV: Tensor, targets_N: Tensor) -> Tensor:
    """log p of each target, (N,) float32."""
    return -F.cross_entropy(logits_NV, targets_N, reduction="none")
