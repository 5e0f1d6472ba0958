"""Text to tokens and back: ids, the characters that they stand for, and the words that they belong to."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Hashable, Iterable
from typing import NamedTuple

import numpy as np
from tokenizers import Encoding
from tokenizers import Tokenizer as Backend

from experiments.corpora.words import words_of
from experiments.text.backend import settle

MASK_TEXT = "[MASK]"
"""How a blank is written in text, whatever the name of the model's mask token."""
SPACE = ("Ġ", "▁")
"""How byte-level BPE and SentencePiece write a space in their vocabularies."""


class Encoded(NamedTuple):
    """A text in tokens; each list has one entry per token."""

    ids: list[int]
    spans: list[tuple[int, int]]
    """The characters [start, end) that a token stands for."""
    words: list[int]
    """The number of the word that it belongs to."""


class TextCodec:
    """Text to tokens and back. In text, special tokens are plain text. The same text always has the same tokens.

    Args:
        backend: the tokenizer; a copy is kept, without its dropout, padding and truncation (see `backend.settle`).
        specials: ids that text must not stand for; where it would, it becomes the unknown token.
        unknown: the id of what cannot be encoded, where the tokenizer's model names none; None where there is none.

    Raises:
        ValueError: when the vocabulary is too large.
    """

    size: int
    """1 + the largest id."""
    unused: tuple[int, ...]
    """Ids below `size` that no token has, in ascending order."""
    changes: tuple[str, ...]
    """How texts are read otherwise than by the backend as it came, in words."""

    def __init__(self, backend: Backend, specials: Iterable[int], unknown: int | None) -> None:
        self.backend, self.size, self.unused, self._unknown, self.changes = settle(backend, unknown)
        self.backend.encode_special_tokens = True
        self.specials = tuple(sorted(set(specials)))
        self._reserved_V = np.zeros(self.size + 1, bool)  # the last one stands for text that would vanish
        self._reserved_V[[self.size, *(number for number in self.specials if number != self._unknown)]] = True

    def encode(self, text: str) -> Encoded:
        """A text in tokens, without special tokens around it.

        Words are those of `words_of`, or what the tokenizer splits them into at first, such as a full stop.

        Raises:
            ValueError: when the tokenizer cannot encode the text.
        """
        try:
            encoding = self.backend.encode(text, add_special_tokens=False)
            ids = self._without_specials(encoding.ids)
        except Exception as error:  # tokenizers raises bare Exception, and TypeError for a lone surrogate
            raise ValueError(f"the tokenizer cannot encode {text[:40]!r}: {error}") from error
        spans = list(encoding.offsets)
        words = _word_of_each(text, spans)
        if self.backend.pre_tokenizer is not None:
            words = _numbered(zip(encoding.word_ids, words, strict=True))
        return Encoded(ids, spans, words)

    def encode_batch(self, texts: list[str]) -> list[list[int]]:
        """The ids of each text alone: faster than `encode`. Raises as `encode` does."""
        encodings = self.encodings(texts)
        try:
            return [self._without_specials(encoding.ids) for encoding in encodings]
        except ValueError:
            self._refuse_one_of(texts)
            raise

    def encodings(self, texts: list[str]) -> list[Encoding]:
        """What the backend makes of each text, without spans; the ids still need `replace_specials`.

        Raises:
            ValueError: when the tokenizer cannot encode one of the texts.
        """
        try:
            return self.backend.encode_batch_fast(texts, add_special_tokens=False)
        except Exception as error:
            self._refuse_one_of(texts)
            raise ValueError(f"the tokenizer cannot encode a batch of texts: {error}") from error

    def replace_specials(self, ids: np.ndarray) -> None:
        """Put the unknown id in place of special ones, in the array itself.

        Some tokenizers find "[MASK]" in their ordinary vocabulary; text must not forge a document's edge or a mask.

        Raises:
            ValueError: when there is one, or text without a token, and the tokenizer has no unknown id.
        """
        reserved = self._reserved_V[ids]
        if reserved.any():
            if self._unknown is None:
                first = ids[reserved][0]
                if first == self.size:
                    raise ValueError("it has no token for some of the text, nor an unknown token to put in its place")
                raise ValueError(f'"{self.name(first)}" is a special token of this model and cannot be encoded as text')
            ids[reserved] = self._unknown

    def unknown(self, ids: Iterable[int]) -> int:
        """How many tokens stand for what the tokenizer cannot encode."""
        return sum(number == self._unknown for number in ids)

    def left_out(self, text: str, spans: Iterable[tuple[int, int]]) -> int:
        """How many visible characters of a text no token stands for, given the spans of its tokens.

        Not counted are white space, accents and control characters, which many tokenizers take out on purpose, and what
        a normalizer makes one character together with its neighbour (NFC: a vowel of a Korean syllable).
        """
        covered = bytearray(len(text))
        for start, end in spans:
            covered[start:end] = b"\1" * (end - start)
        count = 0
        for gap in re.finditer(rb"\0+", covered):
            missing = text[gap.start() : gap.end()]
            visible = sum(map(is_visible, missing))
            before, after = text[max(0, gap.start() - 1) : gap.start()], text[gap.end() : gap.end() + 1]
            if visible and not self._merges(before, missing) and not self._merges(missing, after):
                count += visible
        return count

    def _merges(self, first: str, second: str) -> bool:
        """Whether the normalizer makes something else of two pieces of text together than of each."""
        if self.backend.normalizer is None:
            return False
        together, apart, other = map(self.backend.normalizer.normalize_str, (first + second, first, second))
        return together != apart + other

    def name(self, token: int) -> str:
        """The token as it stands in the vocabulary."""
        return str(self.backend.id_to_token(token))

    def decode(self, ids: Iterable[int]) -> str:
        """The text of tokens; special ones are shown by name."""
        return self.backend.decode([int(number) for number in ids], skip_special_tokens=False)

    def text_of(self, token: int) -> str:
        """The text that a token adds after a word, its space included."""
        word = self.encode("a").ids
        return self.decode([*word, token]).removeprefix(self.decode(word))

    @property
    def spaces_lead(self) -> bool:
        """True when the space in front of a word is a part of the word's first token, or of none."""
        one = self.encode("a a")
        return all(self.name(token) in SPACE for token, span in zip(one.ids, one.spans, strict=True) if span == (1, 2))

    @property
    def opens_with_space(self) -> bool:
        """True when a space is put in front of every text, as SentencePiece does."""
        return self.name(self.encode("a").ids[0]).startswith(SPACE)

    def _refuse_one_of(self, texts: list[str]) -> None:
        """Raises ValueError where one of the texts cannot be encoded, naming it."""
        for text in texts:
            self.encode(text)

    def _without_specials(self, ids: list[int]) -> list[int]:
        array = np.array(ids, np.int64)
        self.replace_specials(array)
        return array.tolist()


def is_visible(character: str) -> bool:
    """True for characters other than white space, accents (Mn) and control characters (Cc, Cf)."""
    return not character.isspace() and unicodedata.category(character) not in ("Mn", "Cc", "Cf")


def _word_of_each(text: str, spans: list[tuple[int, int]]) -> list[int]:
    """For each token, the number of the word that has its first character; for white space, of the word after it."""
    ends = [end for _, end in words_of(text)]
    words, number = [], 0
    for start, _ in spans:
        while number < len(ends) and ends[number] <= start:
            number += 1
        words.append(number)
    return words


def _numbered(keys: Iterable[Hashable]) -> list[int]:
    """Each key's number in the order of first appearance."""
    numbers: dict[Hashable, int] = {}
    return [numbers.setdefault(key, len(numbers)) for key in keys]
