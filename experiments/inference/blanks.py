"""What models put at the blanks of a text, all in one form.

B blanks, V vocabulary.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

import torch

from experiments.inference.open_model import Model
from experiments.text.codec import CHINESE, MASK_TEXT
from objectives.inference.filling import best_fills, blank_distributions, unmask

K = TypeVar("K", bound=Hashable)

# Chinese text has no spaces around its punctuation either.
UNSPACED = f"{CHINESE}\u3001-\u303f\uff01-\uff60"


class Fill(NamedTuple):
    """Text for one blank or for all of them, the text that makes, and how probable it is."""

    fills: tuple[str, ...]
    text: str
    probability: float
    ids: tuple[int, ...] | None
    """The tokens of the sentence, where no blank is left."""


class Fills(NamedTuple):
    """Fills of each blank, and of all blanks together; the best first."""

    blanks: list[list[Fill]]
    whole: list[Fill]


@dataclass(frozen=True)
class Text:
    """A text with blanks."""

    parts: tuple[str, ...]
    """What stands around the blanks; one more than there are blanks."""
    spaces: tuple[str, ...]
    """The space in front of each blank that its token brings along, and that `parts` therefore do not have."""
    template: tuple[int | None, ...]
    """The tokens, with None at a blank."""

    @classmethod
    def of(cls, text: str, model: Model) -> Text:
        """A text in which [MASK], or what the model's tokenizer calls it, is a blank.

        Raises:
            ValueError: when there is no blank, or the tokenizer cannot spell what stands behind one by itself.
        """
        parts = re.split("|".join(map(re.escape, model.mask_names)), text)
        if len(parts) == 1:
            raise ValueError(f"the text has no blank; write {MASK_TEXT} where one is to be filled")
        if model.codec.opens_with_space:
            raise ValueError(
                "the model's tokenizer puts a space in front of every piece of text, so that blanks cannot be filled in"
            )
        parts = _without_chinese_spaces(parts)
        owned = model.codec.spaces_lead
        spaces = [" " if owned and part.endswith(" ") else "" for part in parts[:-1]]
        parts = [part.removesuffix(space) for part, space in zip(parts, [*spaces, ""], strict=True)]
        template: list[int | None] = []
        for part in parts:
            template += [*model.codec.encode(part).ids, None]
        return cls(tuple(parts), tuple(spaces), tuple(template[:-1]))

    def filled(self, fills: Mapping[int, str]) -> str:
        """The text with what tokens say at some blanks, and [MASK] at the others."""
        text = self.parts[0]
        for number, part in enumerate(self.parts[1:]):
            text += fills.get(number, self.spaces[number] + MASK_TEXT) + part
        return text

    def with_ids(self, tokens: Sequence[int]) -> tuple[int, ...]:
        """The tokens of the sentence with one at each blank."""
        waiting = iter(tokens)
        return tuple(next(waiting) if token is None else token for token in self.template)

    def by_tokens(self, tokens: Mapping[int, int], model: Model, probability: float) -> Fill:
        """A fill of some blanks with tokens."""
        fills = {number: model.codec.text_of(token) for number, token in tokens.items()}
        ids = self.with_ids(list(tokens.values())) if len(tokens) == len(self.spaces) else None
        return Fill(tuple(fills.values()), self.filled(fills), probability, ids)


def by_masked(model: Model, text: Text, top: int) -> Fills:
    """The `top` of the distribution of each blank, and the one completion that unmasking finds."""
    nats_BV = blank_distributions(model.language_model, text.template)
    regular = model.language_model.regular_V.nonzero()[:, 0].tolist()
    blanks = []
    for number, nats_V in enumerate(nats_BV.tolist()):
        best = sorted(regular, key=lambda token: -nats_V[token])[:top]
        blanks.append([text.by_tokens({number: token}, model, math.exp(nats_V[token])) for token in best])
    found = unmask(model.language_model, text.template)
    return Fills(blanks, [text.by_tokens(dict(enumerate(found.fills)), model, math.exp(found.nats))])


def by_causal(model: Model, text: Text, width: int) -> Fills:
    """The completions that a beam search finds; a blank's are what they have there."""
    found = best_fills(model.language_model, text.template, width)
    shares = shares_of([one.nats for one in found])
    whole = [text.by_tokens(dict(enumerate(one.fills)), model, p) for one, p in zip(found, shares, strict=True)]
    if len(text.spaces) == 1:
        return Fills([whole], whole)
    tokens = [one.fills for one in found]
    blanks = [
        [text.by_tokens({number: token}, model, share) for token, share in mass_of(tokens, shares, number)]
        for number in range(len(text.spaces))
    ]
    return Fills(blanks, whole)


def shares_of(nats: list[float]) -> list[float]:
    return torch.tensor(nats, dtype=torch.float64).softmax(0).tolist()


def mass_of(fills: Sequence[Sequence[K]], shares: Sequence[float], number: int) -> list[tuple[K, float]]:
    """What the completions have at a blank, with the sum of their shares; the largest first."""
    mass: dict[K, float] = defaultdict(float)
    for one, share in zip(fills, shares, strict=True):
        mass[one[number]] += share
    return sorted(mass.items(), key=lambda item: -item[1])


def _without_chinese_spaces(parts: Sequence[str]) -> list[str]:
    """No spaces between Chinese characters, nor between one and a blank: their texts have none."""
    parts = [re.sub(rf"(?<=[{UNSPACED}])\s+(?=[{UNSPACED}])", "", part) for part in parts]
    inner = [re.sub(rf"(?<=[{UNSPACED}])\s+\Z", "", part) for part in parts[:-1]]
    first, *others = [*inner, parts[-1]]
    return [first, *(re.sub(rf"\A\s+(?=[{UNSPACED}])", "", part) for part in others)]
