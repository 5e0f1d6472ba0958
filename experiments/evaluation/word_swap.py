"""Real versus scrambled: does a model prefer a sentence to the same sentence with two neighbours swapped?

A yardstick common to all objectives: each scores sentences its own way (chain rule or pseudo-log-likelihood), and both
sentences of a pair consist of the same words.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from hashlib import blake2b

from experiments.data.encoded import Pair
from experiments.evaluation.minimal_pairs import outcome
from experiments.text.tokenizer import Tokenizer
from objectives import Objective
from objectives.inference.language_model import ObjectiveLanguageModel
from objectives.inference.scoring import score_sentences, total


def swapped(sentence: str, language: str | None) -> str | None:
    """The sentence with two adjacent words (characters in Chinese) swapped; None when no swap changes it.

    Which two depends on the sentence alone.
    """
    separator = "" if language == "zh" else " "
    words = list(sentence) if language == "zh" else sentence.split()
    places = [place for place in range(len(words) - 1) if words[place] != words[place + 1]]
    if not places:
        return None
    place = places[_hash(sentence) % len(places)]
    words[place], words[place + 1] = words[place + 1], words[place]
    return separator.join(words)


def word_swap_pairs(
    sentences: Iterable[str], language: str | None, tokenizer: Tokenizer, count: int, longest: int
) -> list[Pair]:
    """Up to `count` pairs (real, scrambled) in token ids, each sentence of at most `longest` tokens.

    The sentences are taken in the order of a hash, so that they come from all over the corpus.
    """
    pairs: list[Pair] = []
    for sentence in sorted(set(sentences), key=_hash):
        if len(pairs) == count:
            break
        other = swapped(sentence, language)
        if other is not None:
            real, scrambled = tokenizer.encode_batch([sentence, other])
            if real != scrambled and max(len(real), len(scrambled)) <= longest:
                pairs.append((real, scrambled))
    return pairs


def prefer_original(objective: Objective, pairs: Sequence[Pair]) -> dict[str, float]:
    """accuracy: share of pairs in which the real sentence scores higher, ties counted ½; and the share of ties."""
    sentences = [ids for pair in pairs for ids in pair]
    method = objective.sentence_scores[0]
    scores = [total(one) for one in score_sentences(ObjectiveLanguageModel(objective), sentences, method)]
    if not all(map(math.isfinite, scores)):  # a diverged model prefers nothing
        return {"accuracy": math.nan, "ties": math.nan}
    outcomes = [outcome(real, scrambled) for real, scrambled in zip(scores[::2], scores[1::2], strict=True)]
    return {"accuracy": math.fsum(outcomes) / len(pairs), "ties": outcomes.count(0.5) / len(pairs)}


def _hash(text: str) -> int:
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "big")
