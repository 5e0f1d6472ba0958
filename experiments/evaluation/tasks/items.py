"""Labelled texts in tokens: the texts that an encoder reads, and where in them the items are that have a label.

An item is a whole text, a pair of texts, or a word. Words are aligned to tokens by the characters that both stand for,
whatever the tokenizer: a word's tokens are those that share a character with it; a token may belong to several words.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from experiments.corpora.labelled import LabelledText, Span
from experiments.data.evaluation_inputs import EncodedText
from experiments.evaluation.linear_probe import labels_of
from experiments.text.tokenizer import Tokenizer


@dataclass(frozen=True)
class Items:
    """The items of one part of a task."""

    rows: list[list[int]]
    """Ids of the texts to be read, without special tokens; those of a pair follow each other."""
    spans: list[list[Span]]
    """Of each row, the ids [start, end) of each item in it."""
    placed: list[bool]
    """Of each item, whether it has a token; the others are in no row."""
    texts: list[EncodedText]
    """The labels, text by text or pair by pair, whether placed or not."""
    cut: int
    """Texts that are longer than what is read of them."""

    @property
    def labels(self) -> list[str]:
        """Of the placed items."""
        return [label for label, placed in zip(labels_of(self.texts), self.placed, strict=True) if placed]

    @property
    def bags(self) -> list[list[int]]:
        """The ids of each placed item; of each of a pair's texts."""
        return [ids[start:end] for ids, spans in zip(self.rows, self.spans, strict=True) for start, end in spans]

    def with_others(self, named: Sequence[str], otherwise: str) -> list[str]:
        """A label for every item: those named for the placed ones, and one for all others."""
        found = iter(named)
        return [next(found) if placed else otherwise for placed in self.placed]


def encode_items(texts: Sequence[LabelledText], tokenizer: Tokenizer, longest: int) -> Items:
    """Labelled texts in tokens; of each text the first `longest` are read."""
    rows: list[list[int]] = []
    row_spans: list[list[Span]] = []
    placed: list[bool] = []
    cut = 0
    for one in texts:
        encoded = [tokenizer.encode(text) for text in one.texts]
        ids = [text.ids[:longest] for text in encoded]
        cut += any(len(text.ids) > longest for text in encoded)
        if isinstance(one.label, str):
            placed.append(all(ids))
            spans = [[(0, len(row))] for row in ids] if all(ids) else []
        else:
            (text,) = encoded
            found = list(tokens_of_words(text.spans[:longest], one.words))
            placed.extend(span is not None for span in found)
            spans = [[span for span in found if span is not None]]
        if any(spans):
            rows.extend(ids)
            row_spans.extend(spans)
    return Items(rows, row_spans, placed, [EncodedText([], one.label) for one in texts], cut)


def tokens_of_words(tokens: Sequence[Span], words: Sequence[Span]) -> Iterator[Span | None]:
    """The tokens [start, end) that share a character with each word; None where there is none.

    Args:
        tokens: the characters that each token stands for, in ascending order.
        words: those of each word, likewise.
    """
    start = 0
    for first, last in words:
        while start < len(tokens) and tokens[start][1] <= first:
            start += 1
        end = start
        while end < len(tokens) and tokens[end][0] < last:
            end += 1
        yield (start, end) if first < last and start < end else None
