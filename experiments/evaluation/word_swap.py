"""Word swap: does a model prefer a sentence to the same sentence with two neighbouring words swapped?

A metric that all objectives share: each scores sentences in its own way (chain rule or pseudo-log-likelihood), and both
sentences of a pair consist of the same words. They differ in the order of two words and in nothing else:

  - What stands between words (blanks, tabs, punctuation) stays where it is, a full stop at the end included.
  - Only neighbours behind the same gap are swapped. The first word is behind none and stays, with its capital letter
    and without a space in front, which many tokenizers make a part of a word; so does a word behind a comma, a tab or a
    quote, whose capital may be due to its place. Where each word is tokenized together with the space before it and
    apart from punctuation, both sentences consist of the same tokens too.

Left as it is: a tokenizer may cut the same words differently beside other neighbours (Chinese in byte-level BPE, a word
in one piece with its full stop), so the numbers of tokens may differ, and how often they do is said in the records; the
full stop of an abbreviation counts as punctuation; "a" and "an" are not adapted; a script without spaces other than
Chinese is swapped by runs between spaces.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Sequence
from hashlib import blake2b
from itertools import pairwise

from experiments.corpora.words import words_of
from experiments.data import BlockData
from experiments.data.evaluation_inputs import TextSentences
from experiments.evaluation.metric import NotMeasured, SharedMetric
from experiments.evaluation.standard_errors import share, with_standard_error
from experiments.records.quantities import Quantity
from objectives import Objective
from objectives.inference.language_model import ObjectiveLanguageModel
from objectives.inference.minimal_pairs import outcome
from objectives.inference.scoring import score_sentences, total

Pair = tuple[list[int], list[int]]
"""A sentence and its swapped version, without special tokens."""

PUNCTUATION = ("Po", "Ps", "Pe", "Pi", "Pf", "Pd")
"""Unicode categories: marks, brackets, quotes and dashes."""
PARTS_OF_WORDS = "%‰#@&*/\\"
"""Of these categories, but of a word, such as 5%."""


class WordSwap(SharedMetric):
    """How often an objective prefers a validation sentence to the same with two neighbouring words swapped.

    Args:
        pairs: at most so many pairs.
        longest_sentence: of the sentences, in tokens: the pseudo-log-likelihood costs a forward pass for each.
    """

    def __init__(self, pairs: int = 200, longest_sentence: int = 40) -> None:
        if pairs < 1 or longest_sentence < 2:
            raise ValueError(
                f"WordSwap takes at least 1 pair of sentences of at least 2 tokens, but got pairs={pairs}, "
                f"longest_sentence={longest_sentence}; leave it out of evaluation.metrics to measure none"
            )
        self.pairs, self.longest_sentence = pairs, longest_sentence

    def prepare(self, data: BlockData) -> None:
        super().prepare(data)
        self.sentences = word_swap_pairs(data, self.pairs, self.longest_sentence)

    def quantities(self) -> list[Quantity]:
        even = sum(len(original) == len(changed) for original, changed in self.sentences)
        description = (
            f"How often an arm prefers a sentence to the same with two neighbouring words swapped, in "
            f"{len(self.sentences)} pairs, of which {even} have equally many tokens on both sides; a tie counts ½. "
            f"Each arm scores sentences in its own way."
        )
        return [
            *with_standard_error(
                Quantity(
                    "word_swap/accuracy",
                    "word-swap accuracy",
                    "accuracy",
                    better="higher",
                    comparable="all",
                    chance=0.5,
                    best=1.0,
                    description=description,
                )
            ),
            Quantity("word_swap/ties", "word-swap ties", "share of pairs"),
        ]

    def measure(self, objective: Objective) -> dict[str, float]:
        if not self.sentences:
            raise NotMeasured("the validation text has no sentence of that length in which two words can be swapped")
        return {f"word_swap/{name}": value for name, value in prefer_original(objective, self.sentences).items()}


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
        other = swapped(sentence)
        if other is not None:
            original, changed = sentences.tokenizer.encode_batch([sentence, other])
            if original != changed and max(len(original), len(changed)) <= longest:
                pairs.append((original, changed))
    return pairs


def swapped(sentence: str) -> str | None:
    """The sentence with two neighbouring words (a Chinese character is one) swapped; None when there is no such pair.

    Which two depends on the sentence alone.
    """
    words = [core for span in words_of(sentence) if (core := _without_punctuation(sentence, *span))]
    gaps = [sentence[end:start] for (_, end), (start, _) in pairwise(words)]
    texts = [sentence[start:end] for start, end in words]
    places = [n for n in range(1, len(gaps)) if gaps[n - 1] == gaps[n] and texts[n] != texts[n + 1]]
    if not places:
        return None
    place = places[_hash(sentence) % len(places)]
    (start, _), (_, end) = words[place], words[place + 1]
    return sentence[:start] + texts[place + 1] + gaps[place] + texts[place] + sentence[end:]


def _without_punctuation(sentence: str, start: int, end: int) -> tuple[int, int] | None:
    """The span of a word without the punctuation at its ends; None where nothing else is there."""
    while start < end and _is_punctuation(sentence[start]):
        start += 1
    while start < end and _is_punctuation(sentence[end - 1]):
        end -= 1
    return (start, end) if start < end else None


def _is_punctuation(character: str) -> bool:
    return character not in PARTS_OF_WORDS and unicodedata.category(character) in PUNCTUATION


def pairs_of_blocks(blocks: Sequence[list[int]], longest: int) -> list[Pair]:
    """In each block, the first adjacent tokens that differ are swapped, looked for from the middle on."""
    length = max(map(len, blocks), default=0)
    if length > longest:
        raise ValueError(
            f"a block has {length} symbols, more than WordSwap's longest_sentence {longest}; raise it, or leave "
            f"WordSwap out of evaluation.metrics"
        )
    pairs = []
    for block in blocks:
        order = [*range(len(block) // 2, len(block) - 1), *range(len(block) // 2)]
        place = next((place for place in order if block[place] != block[place + 1]), None)
        if place is not None:
            pairs.append((block, [*block[:place], block[place + 1], block[place], *block[place + 2 :]]))
    return pairs


def prefer_original(objective: Objective, pairs: Sequence[Pair]) -> dict[str, float]:
    """accuracy: share of pairs whose original scores higher, a tie counting ½, with its standard error over pairs; and
    the share of ties."""
    outcomes = judge(objective, pairs)
    if outcomes is None:
        return {"accuracy": math.nan, "accuracy_standard_error": math.nan, "ties": math.nan}
    accuracy, error = share(outcomes, [1.0] * len(outcomes))
    return {"accuracy": accuracy, "accuracy_standard_error": error, "ties": outcomes.count(0.5) / len(pairs)}


def judge(objective: Objective, pairs: Sequence[Pair]) -> list[float] | None:
    """Of each pair, 1 when the first sentence scores higher, 0 when the second does, ½ for a tie, by the first of the
    objective's sentence scores; None of a diverged model, which prefers nothing.

    Raises:
        NotMeasured: when it offers no sentence scores.
    """
    if not objective.traits.scores:
        raise NotMeasured(f"{objective.traits.name} offers no sentence scores")
    sentences = [ids for pair in pairs for ids in pair]
    method = objective.traits.scores[0]
    scores = [total(one) for one in score_sentences(ObjectiveLanguageModel(objective), sentences, method)]
    if not all(map(math.isfinite, scores)):
        return None
    return [outcome(first, second) for first, second in zip(scores[::2], scores[1::2], strict=True)]


def _hash(text: str) -> int:
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "big")
