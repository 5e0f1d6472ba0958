"""A text with blanks, and texts and tokens in its blanks."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from experiments.corpora.words import CHINESE
from experiments.inference.open_model import TextModel
from experiments.text.codec import MASK_TEXT

# Chinese text has no spaces around its punctuation either.
UNSPACED = f"{CHINESE}\u3001-\u303f\uff01-\uff60"


class Fill(NamedTuple):
    """What stands in one blank or in all of them, the text with it, and how probable it is."""

    fills: tuple[str, ...]
    text: str
    probability: float
    ids: tuple[int, ...] | None
    """The tokens of the sentence, where no blank is left."""


@dataclass(frozen=True)
class TextWithBlanks:
    """A text with blanks of one token each, or of any length where words are put into them."""

    parts: tuple[str, ...]
    """The text around the blanks; one part more than there are blanks."""
    spaces: tuple[str, ...]
    """For each blank the space in front of it that belongs to its token, and therefore to none of `parts`."""
    template: tuple[int | None, ...]
    """The tokens, with None at each blank."""

    @classmethod
    def parse(cls, text: str, model: TextModel) -> TextWithBlanks:
        """A text in which [MASK], or the name of the model's own mask token, is a blank.

        Raises:
            ValueError: when there is no blank, or the tokenizer cannot encode what follows one by itself.
        """
        parts = re.split("|".join(map(re.escape, model.mask_names)), text)
        if len(parts) == 1:
            raise ValueError(f"the text has no blank; write {MASK_TEXT} where one is to be filled")
        if model.codec.opens_with_space:
            raise ValueError(
                "the model's tokenizer puts a space in front of every piece of text, so blanks cannot be filled in"
            )
        parts = without_chinese_spaces(parts)
        taken = " " if model.codec.spaces_lead else ""
        spaces = [taken if part.endswith(" ") else "" for part in parts[:-1]]
        parts = [part.removesuffix(space) for part, space in zip(parts, [*spaces, ""], strict=True)]
        template: list[int | None] = []
        for part in parts:
            template += [*model.codec.encode(part).ids, None]
        return cls(tuple(parts), tuple(spaces), tuple(template[:-1]))

    def with_fills(self, fills: Mapping[int, str]) -> str:
        """The text with fills, spaces included, in some blanks by number, and [MASK] in the others."""
        text = self.parts[0]
        for number, part in enumerate(self.parts[1:]):
            text += fills.get(number, self.spaces[number] + MASK_TEXT) + part
        return text

    def with_words(self, words: Mapping[int, str]) -> str:
        """As `with_fills`, but the space in front of a blank stays."""
        return self.with_fills({number: self.spaces[number] + word for number, word in words.items()})

    def with_tokens(self, tokens: Sequence[int]) -> tuple[int, ...]:
        """The tokens of the sentence with one in each blank."""
        waiting = iter(tokens)
        return tuple(next(waiting) if token is None else token for token in self.template)

    def word_spans(self, words: Sequence[str]) -> list[tuple[int, int]]:
        """The characters [start, end) of each word in the text that has one in each blank."""
        spans, end = [], 0
        for space, word, part in zip(self.spaces, words, self.parts, strict=False):
            start = end + len(part) + len(space)
            end = start + len(word)
            spans.append((start, end))
        return spans


def without_chinese_spaces(parts: Sequence[str]) -> list[str]:
    """The text around blanks without spaces between Chinese characters, or between one and a blank."""
    parts = [re.sub(rf"(?<=[{UNSPACED}])\s+(?=[{UNSPACED}])", "", part) for part in parts]
    inner = [re.sub(rf"(?<=[{UNSPACED}])\s+\Z", "", part) for part in parts[:-1]]
    first, *others = [*inner, parts[-1]]
    return [first, *(re.sub(rf"\A\s+(?=[{UNSPACED}])", "", part) for part in others)]
