"""Between text and tokens, for using a trained model: ids, the characters behind them, and the words they belong to."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable
from typing import NamedTuple

from tokenizers import Tokenizer as Backend

# A Chinese character is a word by itself, as in BERT's tokenizer: Chinese text has no spaces.
CHINESE = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
MASK_TEXT = "[MASK]"
"""How a blank is written in text, whatever the model calls its mask."""
SPACE = ("Ġ", "▁")
"""How byte-level BPE and SentencePiece write a space in their tokens."""
WORD = re.compile(rf"[{CHINESE}]|[^\s{CHINESE}]+")


class Encoded(NamedTuple):
    """A text in tokens; all three lists have one entry a token."""

    ids: list[int]
    spans: list[tuple[int, int]]
    """The characters [start, end) that a token stands for."""
    words: list[int]
    """The number of the word that it belongs to."""


class TextCodec:
    """A tokenizer as a trained model is used with it. In text, special tokens are plain text.

    Args:
        backend: the tokenizer; its settings are not touched.
        specials: ids that text must not forge; they become `unknown`.
        unknown: the id of what cannot be encoded.
    """

    def __init__(self, backend: Backend, specials: Iterable[int], unknown: int | None) -> None:
        self._backend = Backend.from_str(backend.to_str())
        self._backend.no_padding()
        self._backend.no_truncation()
        self._backend.encode_special_tokens = True
        self._forged = frozenset(specials) - {unknown}
        self._unknown = unknown

    def encode(self, text: str) -> Encoded:
        """A text in tokens, without special tokens around it.

        Words are those of `words_of`, or what the tokenizer splits them into at first, such as a full stop.

        Raises:
            ValueError: when the tokenizer cannot spell the text.
        """
        try:
            encoding = self._backend.encode(text, add_special_tokens=False)
        except Exception as error:  # tokenizers raises bare Exception, and TypeError for half a character
            raise ValueError(f"the tokenizer cannot spell {text[:40]!r}: {error}") from error
        ids, spans = list(encoding.ids), list(encoding.offsets)
        for place, number in enumerate(ids):
            if number in self._forged:
                if self._unknown is None:
                    raise ValueError(f'"{self.name(number)}" is a special token of this model, and no text for it')
                ids[place] = self._unknown
        words = _word_of_each(text, spans)
        if self._backend.pre_tokenizer is not None:
            words = _numbered(zip(encoding.word_ids, words, strict=True))
        return Encoded(ids, spans, words)

    def unknown(self, ids: Iterable[int]) -> int:
        """How many tokens stand for what the tokenizer cannot spell."""
        return sum(number == self._unknown for number in ids)

    def name(self, token: int) -> str:
        """The token as it stands in the vocabulary."""
        return str(self._backend.id_to_token(token))

    def decode(self, ids: Iterable[int]) -> str:
        """The text of tokens; special ones are shown by name."""
        return self._backend.decode([int(number) for number in ids], skip_special_tokens=False)

    def text_of(self, token: int) -> str:
        """The text that a token adds behind a word, its space included."""
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


def words_of(text: str) -> list[tuple[int, int]]:
    """The spans of the words of a text: what stands between white space; each Chinese character is one by itself."""
    return [match.span() for match in WORD.finditer(text)]


def _word_of_each(text: str, spans: list[tuple[int, int]]) -> list[int]:
    """For each token, the word that has its first character or, of white space, the one behind it."""
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
