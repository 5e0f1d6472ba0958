"""What models put at the blanks of a text, all in one form.

B blanks, V vocabulary.
"""

from __future__ import annotations

import itertools
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch

from experiments.models import Model
from experiments.spelling import CHINESE
from objectives.filling import best_fills, blank_distributions, unmask
from objectives.scoring import chain_rule, pseudo_log_likelihood, total

MOST_COMBINATIONS = 4096


class Fill(NamedTuple):
    """Text for one blank or for all, the ids of the sentence where no blank is left, and how probable it is."""

    fills: tuple[str, ...]
    ids: tuple[int, ...] | None
    probability: float


class Answer(NamedTuple):
    """Fills of each blank, and of all blanks together; the best first."""

    blanks: list[list[Fill]]
    whole: list[Fill]


@dataclass(frozen=True)
class Text:
    """A text with blanks."""

    parts: tuple[str, ...]
    """What stands around the blanks; one more than there are blanks."""
    template: tuple[int | None, ...]
    """The tokens, with None at a blank."""

    @classmethod
    def of(cls, text: str, model: Model) -> Text:
        """A text in which [MASK], or what the model's tokenizer calls it, is a blank.

        Raises:
            ValueError: when there is no blank.
        """
        parts = re.split("|".join(map(re.escape, model.mask_names)), text)
        if len(parts) == 1:
            raise ValueError("the text has no blank; write [MASK] where one is to be filled")
        parts = _without_chinese_spaces(parts)
        template: list[int | None] = []
        for number, part in enumerate(parts):
            # The space in front of a blank belongs to the token that will stand there.
            owned = model.spelling.spaces_lead and number < len(parts) - 1
            template += [*model.spelling.spell(part.rstrip() if owned else part).ids, None]
        return cls(tuple(parts), tuple(template[:-1]))

    def filled(self, fills: Mapping[int, str]) -> str:
        """The text with blanks filled, and [MASK] where one is left."""
        text = self.parts[0]
        for number, part in enumerate(self.parts[1:]):
            fill = fills.get(number, "[MASK]")
            if fill.startswith("##") or fill[:1].isspace():
                text, fill = text.rstrip(), fill.removeprefix("##")
            text += fill + part
        return text

    def with_ids(self, tokens: Sequence[int]) -> tuple[int, ...]:
        """The ids of the sentence with a token at each blank."""
        waiting = iter(tokens)
        return tuple(next(waiting) if token is None else token for token in self.template)


def by_masked(model: Model, text: Text) -> Answer:
    """The distribution of each blank, and the one completion that unmasking finds."""
    nats_BV = blank_distributions(model.reader, text.template)
    alone, regular = len(nats_BV) == 1, model.reader.regular_V.nonzero()[:, 0].tolist()
    blanks = []
    for nats_V in nats_BV.tolist():
        best = sorted(regular, key=lambda token: (-nats_V[token], token))[:1000]
        blanks.append(
            [
                Fill((model.spelling.read([token]),), text.with_ids([token]) if alone else None, _exp(nats_V[token]))
                for token in best
            ]
        )
    found = unmask(model.reader, text.template)
    names = tuple(model.spelling.read([token]) for token in found.fills)
    return Answer(blanks, [Fill(names, text.with_ids(found.fills), _exp(found.nats))])


def by_causal(model: Model, text: Text, width: int) -> Answer:
    """The completions that a beam search finds; a blank's are what they have there."""
    found = best_fills(model.reader, text.template, width)
    return _shares(
        [tuple(model.spelling.read([token]) for token in one.fills) for one in found],
        [text.with_ids(one.fills) for one in found],
        [one.nats for one in found],
    )


def among(model: Model, text: Text, candidates: Sequence[str]) -> Answer:
    """Given candidates, each scored as a whole; with several blanks, all their combinations.

    A causal model scores the whole sentence. A masked one scores the tokens of the candidates, all of them masked and
    then shown from left to right.

    Raises:
        ValueError: when a candidate is empty, or there are too many combinations.
    """
    blanks = len(text.parts) - 1
    candidates = list(dict.fromkeys(candidates))
    if not all(candidate.strip() for candidate in candidates):
        raise ValueError("a candidate is empty; give text for each")
    if len(candidates) ** blanks > MOST_COMBINATIONS:
        raise ValueError(
            f"{len(candidates)} candidates for {blanks} blanks are {len(candidates) ** blanks} combinations, more than "
            f"{MOST_COMBINATIONS}; give fewer"
        )
    combinations = list(itertools.product(candidates, repeat=blanks))
    spelled = [_spell_around(model, text, fills) for fills in combinations]
    ids = [tokens for tokens, _ in spelled]
    if model.reader.causal:
        nats = [total(scores) for scores in chain_rule(model.reader, ids)]
    else:
        # As if all blanks were one word: its later tokens are hidden with each.
        words = [[-1 if asked else place for place, asked in enumerate(inside)] for _, inside in spelled]
        scored = pseudo_log_likelihood(model.reader, ids, words)
        nats = [
            total([value for value, asked in zip(scores, inside, strict=True) if asked])
            for scores, (_, inside) in zip(scored, spelled, strict=True)
        ]
    order = sorted(range(len(nats)), key=lambda place: -nats[place])
    return _shares([combinations[i] for i in order], [tuple(ids[i]) for i in order], [nats[i] for i in order])


def _spell_around(model: Model, text: Text, fills: Sequence[str]) -> tuple[list[int], list[bool]]:
    """The ids of the text with the blanks filled, and for each whether it belongs to a fill."""
    whole, inside = text.parts[0], []
    for fill, part in zip(fills, text.parts[1:], strict=True):
        inside.append((len(whole), len(whole) + len(fill)))
        whole += fill + part
    one = model.spelling.spell(whole)
    asked = [any(begin < end and start < stop for begin, stop in inside) for start, end in one.spans]
    return one.ids, asked


def _shares(fills: list[tuple[str, ...]], ids: list[tuple[int, ...]], nats: list[float]) -> Answer:
    """An answer from completions, the best first, whose probabilities are their shares."""
    shares = torch.tensor(nats, dtype=torch.float64).softmax(0).tolist()
    whole = [Fill(*row) for row in zip(fills, ids, shares, strict=True)]
    if len(fills[0]) == 1:
        return Answer([whole], whole)
    blanks = []
    for place in range(len(fills[0])):
        mass: dict[str, float] = defaultdict(float)
        for fill in whole:
            mass[fill.fills[place]] += fill.probability
        blanks.append([Fill((name,), None, share) for name, share in sorted(mass.items(), key=lambda item: -item[1])])
    return Answer(blanks, whole)


def _without_chinese_spaces(parts: Sequence[str]) -> list[str]:
    """No spaces between Chinese characters, nor between one and a blank: their texts have none."""
    parts = [re.sub(rf"(?<=[{CHINESE}])\s+(?=[{CHINESE}])", "", part) for part in parts]
    for number in range(len(parts) - 1):
        left, right = parts[number].rstrip(), parts[number + 1].lstrip()
        if re.search(rf"[{CHINESE}]\Z", left) or re.match(rf"[{CHINESE}]", right):
            parts[number], parts[number + 1] = left, right
    return parts


def _exp(nats: float) -> float:
    return float(torch.tensor(nats, dtype=torch.float64).exp())
