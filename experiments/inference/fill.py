"""`clm-vs-mlm fill`: what belongs in the blanks of a text, by model or among given candidates.

B blanks, V vocabulary.
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import partial
from typing import NamedTuple, TypeVar

import torch

from experiments.inference.blanks import Fill, TextWithBlanks
from experiments.inference.methods import check_lengths, choose_method, score_texts
from experiments.inference.open_model import TextModel
from experiments.inference.write_output import RecordPrinter
from experiments.text.codec import Encoded
from objectives.inference.filling import best_fills, blank_distributions, unmask
from objectives.inference.scoring import total

MOST_COMBINATIONS = 1024

K = TypeVar("K", bound=Hashable)


class Fills(NamedTuple):
    """Fills of each blank, and of all blanks together; the best first."""

    blanks: list[list[Fill]]
    whole: list[Fill]


def fill_masked(model: TextModel, text: TextWithBlanks, top: int) -> Fills:
    """The `top` of the distribution at each blank, and the one completion that unmasking finds."""
    nats_BV = blank_distributions(model.language_model, text.template)
    regular = model.language_model.regular_V.nonzero()[:, 0].tolist()
    blanks = []
    for number, nats_V in enumerate(nats_BV.tolist()):
        best = sorted(regular, key=lambda token: -nats_V[token])[:top]
        blanks.append([_token_fill(model, text, {number: token}, math.exp(nats_V[token])) for token in best])
    found = unmask(model.language_model, text.template)
    return Fills(blanks, [_token_fill(model, text, dict(enumerate(found.fills)), math.exp(found.nats))])


def fill_causal(model: TextModel, text: TextWithBlanks, width: int) -> Fills:
    """The completions that a beam search finds; a blank's fills are what they have there."""
    found = best_fills(model.language_model, text.template, width)
    fills, nats = zip(*found, strict=True)
    return _share_out(fills, nats, partial(_token_fill, model, text))


def score_candidates(model: TextModel, text: TextWithBlanks, candidates: Sequence[str]) -> Fills:
    """Given candidates, each scored as a whole, of however many tokens; all combinations where there are many blanks.

    A causal model scores the whole sentence. A masked one scores the tokens of the candidates, all of them masked and
    then shown from left to right.

    Raises:
        ValueError: when a candidate has no tokens or is too long, or there are too many combinations.
    """
    combinations = _combinations(candidates, len(text.spaces))
    encoded = [model.codec.encode(text.with_words(dict(enumerate(words)))) for words in combinations]
    inside = [_inside(text, words, tokens) for words, tokens in zip(combinations, encoded, strict=True)]
    check_lengths(model, encoded, [f"the text with {' and '.join(words)}" for words in combinations])
    nats = _candidate_nats(model, [tokens.ids for tokens in encoded], inside)
    best_first = sorted(range(len(nats)), key=lambda index: -nats[index])
    ids_of = {words: tuple(tokens.ids) for words, tokens in zip(combinations, encoded, strict=True)}

    def make_fill(words: Mapping[int, str], share: float) -> Fill:
        fills = tuple(words.values())
        return Fill(fills, text.with_words(words), share, ids_of.get(fills))

    return _share_out([combinations[index] for index in best_first], [nats[index] for index in best_first], make_fill)


def print_fills(model: TextModel, fills: Fills, top: int, printer: RecordPrinter) -> None:
    """The `top` fills of each blank, then those of all blanks together."""
    ranked = {str(number): found for number, found in enumerate(fills.blanks, start=1)} | {"all": fills.whole}
    rows = [(blank, rank, fill) for blank, found in ranked.items() for rank, fill in enumerate(found[:top], start=1)]
    sentences = [fill.ids for _, _, fill in rows if fill.ids is not None]
    scores = iter(score_texts(model, sentences, choose_method(model)))
    for blank, rank, fill in rows:
        printer.print_record(
            {
                "blank": blank,
                "rank": rank,
                "fills": list(fill.fills),
                "probability": fill.probability,
                "sentence_nats": None if fill.ids is None else total(next(scores)),
                "text": fill.text,
            }
        )


def _token_fill(model: TextModel, text: TextWithBlanks, tokens: Mapping[int, int], probability: float) -> Fill:
    """A fill of some blanks, by number, with tokens."""
    fills = {number: model.codec.text_of(token) for number, token in tokens.items()}
    ids = text.with_tokens(list(tokens.values())) if len(tokens) == len(text.spaces) else None
    return Fill(tuple(fills.values()), text.with_fills(fills), probability, ids)


def _share_out(
    completions: Sequence[Sequence[K]], nats: Sequence[float], make_fill: Callable[[Mapping[int, K], float], Fill]
) -> Fills:
    """Completions, best first, with their shares of the probability that all of them have together.

    Args:
        completions: what each has in every blank.
        nats: log-probability of each.
        make_fill: a fill of what stands in some blanks, by number, and its probability.
    """
    shares = torch.tensor(nats, dtype=torch.float64).softmax(0).tolist()
    whole = [make_fill(dict(enumerate(fills)), share) for fills, share in zip(completions, shares, strict=True)]
    blanks = []
    for number in range(len(completions[0])):
        mass: dict[K, float] = defaultdict(float)
        for fills, share in zip(completions, shares, strict=True):
            mass[fills[number]] += share
        best_first = sorted(mass.items(), key=lambda item: -item[1])
        blanks.append([make_fill({number: fill}, share) for fill, share in best_first])
    return Fills(blanks, whole)


def _combinations(candidates: Sequence[str], blanks: int) -> list[tuple[str, ...]]:
    """Every way to put candidates into the blanks."""
    candidates = list(dict.fromkeys(candidate.strip() for candidate in candidates))
    count = len(candidates) ** blanks
    if count > MOST_COMBINATIONS:
        raise ValueError(
            f"{len(candidates)} candidates for {blanks} blanks are {count} combinations, more than "
            f"{MOST_COMBINATIONS}; give fewer"
        )
    return list(itertools.product(candidates, repeat=blanks))


def _inside(text: TextWithBlanks, words: Sequence[str], encoded: Encoded) -> list[bool]:
    """For each token of the text with words in its blanks, whether it belongs to one of them."""
    overlaps = [
        [start < last and first < end for first, last in encoded.spans] for start, end in text.word_spans(words)
    ]
    for word, overlap in zip(words, overlaps, strict=True):
        if not any(overlap):
            raise ValueError(f"the candidate {word!r} has no token that could be scored; give another")
    return [any(column) for column in zip(*overlaps, strict=True)]


def _candidate_nats(model: TextModel, ids: Sequence[Sequence[int]], inside: Sequence[Sequence[bool]]) -> list[float]:
    """How probable each sentence is or, by a masked model, the tokens of its candidates."""
    if model.language_model.causal:
        if not model.language_model.bos and any(flags[0] for flags in inside):
            raise ValueError("this model has no token for the beginning of a text, so no blank can come first")
        return [total(scores) for scores in score_texts(model, ids, "chain_rule")]
    # As if all blanks were one word: each of its tokens is scored with the later ones hidden.
    words = [[-1 if flag else index for index, flag in enumerate(flags)] for flags in inside]
    scored = score_texts(model, ids, "pll_word_l2r", words)
    return [total(list(itertools.compress(scores, flags))) for scores, flags in zip(scored, inside, strict=True)]
