"""Log-probabilities of sentences: the chain rule for causal models; for masked ones the pseudo-log-likelihood (PLL) or,
where they are trained for it, a lower bound (`elbo`).

Sentences are token ids without special tokens. Scores are natural logarithms (nats), one for each token; None where a
token has no score, as the first one of a model without a beginning-of-sentence token. They depend neither on the batch
size nor on the other sentences. The log-softmax is in float32, sums are in float64.

Each method is a `Scorer` (`pieces`), which scores a batch of pieces.

S sentences, R rows, T positions, N target positions, V vocabulary.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from objectives.inference.elbo import SAMPLES, evidence_lower_bound
from objectives.inference.language_model import LanguageModel
from objectives.inference.pieces import (
    LOGITS_PER_BATCH,
    TOKENS_PER_BATCH,
    Piece,
    Progress,
    Scorer,
    Scores,
    log_probabilities,
    refuse_unscorable,
    score_pieces,
)

METHODS = ("chain_rule", "elbo", "pll", "pll_word_l2r")
"""The names by which `Traits.scores` and `score_sentences` know the methods."""


def score_sentences(
    model: LanguageModel,
    sentences: Sequence[Sequence[int]],
    method: str,
    words: Sequence[Sequence[int]] | None = None,
    end: bool = False,
    window: bool = False,
    progress: Progress = lambda tokens: None,
    samples: int = SAMPLES,
) -> list[Scores]:
    """Scores by one of METHODS. The arguments are those of `chain_rule`, `pseudo_log_likelihood` and
    `evidence_lower_bound`.

    `end` matters to chain_rule only; `samples` to elbo only; `words` to pll_word_l2r only, which needs them.

    Raises:
        ValueError: when there is no such method, pll_word_l2r is given no words, elbo is to score windows, or the
            method refuses the model or a sentence.
    """
    if method not in METHODS:
        raise ValueError(f"there is no method {method!r} to score sentences by; use one of {', '.join(METHODS)}")
    if method == "chain_rule":
        return chain_rule(model, sentences, end, window, progress)
    if method == "elbo":
        if window:
            raise ValueError("elbo bounds the probability of a sentence as a whole; it has no windows")
        return evidence_lower_bound(model, sentences, samples, progress)
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
        raise ValueError(f"this model reads both ways and has no chain rule; score it by {' or '.join(model.methods)}")
    if end and model.end_of_text is None:
        raise ValueError("this model has no token for the end of a sentence")
    refuse_unscorable(model, sentences, window)
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
    refuse_unscorable(model, sentences, window)
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
        unscored: list[float | None] = [] if model.bos else [None]
        if not targeted_RT.any():  # single tokens without a beginning of sentence
            return [Scores(unscored) for _ in pieces]
        scores_N = log_probabilities(model.logits(rows_RT[:, :-1], targeted_RT), rows_RT[:, 1:][targeted_RT])
        return [Scores([*unscored, *part.tolist()]) for part in scores_N.split(targeted_RT.sum(1).tolist())]

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
            [log_probabilities(self.model.logits(inputs, targeted), targets) for inputs, targeted, targets in batches]
        )
        return [Scores(one) for one in scores_R.view(len(pieces), -1).tolist()]

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
