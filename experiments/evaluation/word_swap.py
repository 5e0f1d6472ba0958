"""Word swap: does a model prefer a sentence to the same sentence with two neighbouring words swapped?

A metric that all objectives share: each scores sentences in its own way (chain rule or pseudo-log-likelihood), and both
sentences of a pair consist of the same words.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from hashlib import blake2b

from experiments.data import BlockData
from experiments.data.evaluation_inputs import TextSentences
from experiments.evaluation.minimal_pairs import outcome
from objectives import Objective
from objectives.inference.language_model import ObjectiveLanguageModel
from objectives.inference.scoring import score_sentences, total

Pair = tuple[list[int], list[int]]
"""A sentence and its swapped version, without special tokens."""


def word_swap_pairs(data: BlockData, count: int, longest: int) -> list[Pair]:
    """Up to `count` pairs in token ids, made from the validation sentences of `data` of at most `longest` tokens.

    Raises:
        ValueError: when generated blocks are longer: a part of one would not be a block of the language.
    """
    sentences = data.validation_sentences(count)
    if isinstance(sentences, TextSentences):
        return pairs_of_text(sentences, count, min(longest, data.block_length - 2))
    return pairs_of_blocks(sentences, longest)


def pairs_of_text(sentences: TextSentences, count: int, longest: int) -> list[Pair]:
    """The sentences are taken in the order of a hash, so that they come from all over the corpus."""
    pairs: list[Pair] = []
    for sentence in sorted(set(sentences.texts), key=_hash):
        if len(pairs) == count:
            break
        other = swapped(sentence, sentences.language)
        if other is not None:
            original, changed = sentences.tokenizer.encode_batch([sentence, other])
            if original != changed and max(len(original), len(changed)) <= longest:
                pairs.append((original, changed))
    return pairs


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


def pairs_of_blocks(blocks: Sequence[list[int]], longest: int) -> list[Pair]:
    """In each block, the first adjacent tokens that differ are swapped, looked for from the middle on."""
    length = max(map(len, blocks), default=0)
    if length > longest:
        raise ValueError(
            f"a block has {length} symbols, more than evaluation.longest_sentence {longest}; raise it, or leave these "
            f"pairs out with evaluation.word_swap_pairs 0"
        )
    pairs = []
    for block in blocks:
        order = [*range(len(block) // 2, len(block) - 1), *range(len(block) // 2)]
        place = next((place for place in order if block[place] != block[place + 1]), None)
        if place is not None:
            pairs.append((block, [*block[:place], block[place + 1], block[place], *block[place + 2 :]]))
    return pairs


def prefer_original(objective: Objective, pairs: Sequence[Pair]) -> dict[str, float]:
    """accuracy: share of pairs whose original scores higher, a tie counting ½; and the share of ties."""
    sentences = [ids for pair in pairs for ids in pair]
    method = objective.traits.scores[0]
    scores = [total(one) for one in score_sentences(ObjectiveLanguageModel(objective), sentences, method)]
    if not all(map(math.isfinite, scores)):  # a diverged model prefers nothing
        return {"accuracy": math.nan, "ties": math.nan}
    outcomes = [outcome(original, changed) for original, changed in zip(scores[::2], scores[1::2], strict=True)]
    return {"accuracy": math.fsum(outcomes) / len(pairs), "ties": outcomes.count(0.5) / len(pairs)}


def _hash(text: str) -> int:
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "big")
