"""Given candidates for the blanks of a text, each scored as a whole, of however many tokens."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

from experiments.inference.blanks import Fill, Fills, Text, mass_of, shares_of
from experiments.inference.methods import refuse_long, score
from experiments.inference.open_model import Model
from experiments.text.codec import Encoded
from objectives.inference.scoring import total

MOST_COMBINATIONS = 1024


def among(model: Model, text: Text, candidates: Sequence[str]) -> Fills:
    """Given candidates, each scored as a whole; with several blanks, all their combinations.

    A causal model scores the whole sentence. A masked one scores the tokens of the candidates, all of them masked and
    then shown from left to right.

    Raises:
        ValueError: when a candidate has no tokens or is too long, or there are too many combinations.
    """
    blanks = len(text.spaces)
    candidates = list(dict.fromkeys(candidate.strip() for candidate in candidates))
    if len(candidates) ** blanks > MOST_COMBINATIONS:
        raise ValueError(
            f"{len(candidates)} candidates for {blanks} blanks are {len(candidates) ** blanks} combinations, more than "
            f"{MOST_COMBINATIONS}; give fewer"
        )
    combinations = list(itertools.product(candidates, repeat=blanks))
    encoded, insides = [], []
    for fills in combinations:
        one, inside = _spell_around(model, text, fills)
        encoded.append(one)
        insides.append(inside)
    if model.language_model.causal and not model.language_model.bos and any(inside[0] for inside in insides):
        raise ValueError("this model knows no token for the beginning of a text, so that no blank can stand first")
    refuse_long(model, encoded, [f"the text with {' and '.join(fills)}" for fills in combinations])
    ids = [one.ids for one in encoded]
    if model.language_model.causal:
        nats = [total(scores) for scores in score(model, ids, "chain_rule")]
    else:
        # As if all blanks were one word: its later tokens are hidden with each.
        words = [[-1 if asked else place for place, asked in enumerate(inside)] for inside in insides]
        nats = [
            total([value for value, asked in zip(scores, inside, strict=True) if asked])
            for scores, inside in zip(score(model, ids, "pll_word_l2r", words), insides, strict=True)
        ]
    order = sorted(range(len(nats)), key=lambda place: -nats[place])
    shares = shares_of([nats[place] for place in order])
    ranked = [combinations[place] for place in order]
    whole = [
        Fill(fills, _around(text, dict(enumerate(fills))), share, tuple(ids[place]))
        for fills, share, place in zip(ranked, shares, order, strict=True)
    ]
    if blanks == 1:
        return Fills([whole], whole)
    each = [
        [Fill((name,), _around(text, {number: name}), share, None) for name, share in mass_of(ranked, shares, number)]
        for number in range(blanks)
    ]
    return Fills(each, whole)


def _around(text: Text, fills: Mapping[int, str]) -> str:
    """The text with words at some blanks, which leave the space in front of them as it is."""
    return text.filled({number: text.spaces[number] + fill for number, fill in fills.items()})


def _spell_around(model: Model, text: Text, fills: Sequence[str]) -> tuple[Encoded, list[bool]]:
    """The text with words at its blanks, and for each token whether it belongs to one of them."""
    inside, end = [], 0
    for space, fill, part in zip(text.spaces, fills, text.parts, strict=False):
        start = end + len(part) + len(space)
        end = start + len(fill)
        inside.append((start, end))
    one = model.codec.encode(_around(text, dict(enumerate(fills))))
    tokens = [[begin < last and first < stop for begin, stop in one.spans] for first, last in inside]
    for fill, asked in zip(fills, tokens, strict=True):
        if not any(asked):
            raise ValueError(f"the candidate {fill!r} has no token that could be scored; give another")
    return one, [any(column) for column in zip(*tokens, strict=True)]
