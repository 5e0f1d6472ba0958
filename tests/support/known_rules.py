"""A small language with known rules as data, and the enumeration of everything that can happen in a tiny one."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Iterator
from functools import cache

from experiments.data import GeneratedData
from experiments.languages.hidden_markov import HiddenMarkov
from objectives import Noise

Symbols = tuple[int, ...]
Target = tuple[tuple[int | None, ...], int, int]
"""What is shown, None being [MASK]; a target position; and the true symbol there."""

RULES = HiddenMarkov(4, 8, transition_concentration=0.3, emission_concentration=0.3, length=14, seed=1)


def make_data(rules: HiddenMarkov = RULES, **changes: int) -> GeneratedData:
    """Generated data of little size."""
    sizes = {"batch_size": 8, "validation_blocks": 20, "probe_train": 30, "probe_test": 20}
    return GeneratedData(rules, **{**sizes, **changes})


def enumerate_blocks(language: HiddenMarkov) -> dict[tuple[Symbols, Symbols], float]:
    """p(states, symbols) of all pairs, by the definition of the chain."""
    initial, transition, emission = (
        table.tolist() for table in (language.initial_S, language.transition_SS, language.emission_SV)
    )
    joint: dict[tuple[Symbols, Symbols], float] = {}
    for states in itertools.product(range(language.states), repeat=language.length):
        for symbols in itertools.product(range(language.symbols), repeat=language.length):
            p = initial[states[0]] * math.prod(transition[a][b] for a, b in itertools.pairwise(states))
            joint[states, symbols] = p * math.prod(emission[s][x] for s, x in zip(states, symbols, strict=True))
    return joint


@cache
def text_probabilities(language: HiddenMarkov) -> dict[Symbols, float]:
    """p(symbols) of all blocks."""
    total: dict[Symbols, float] = defaultdict(float)
    for (_, symbols), p in enumerate_blocks(language).items():
        total[symbols] += p
    return total


def _outcomes(symbol: int, noise: Noise, symbols: int) -> Iterator[tuple[bool, int | None, float]]:
    """All (selected, shown, probability) of one position: not selected, masked, kept, or each replacement."""
    yield False, symbol, 1 - noise.rate
    yield True, None, noise.rate * noise.mask
    yield True, symbol, noise.rate * noise.keep
    for other in range(symbols):
        yield True, other, noise.rate * noise.random / symbols


@cache
def enumerate_targets(language: HiddenMarkov, noise: Noise) -> dict[Target, float]:
    """The probability of each target, over all blocks, selections and replacements."""
    mass: dict[Target, float] = defaultdict(float)
    for symbols, p in text_probabilities(language).items():
        choices = [[o for o in _outcomes(symbol, noise, language.symbols) if o[2]] for symbol in symbols]
        for outcome in itertools.product(*choices):
            q = p * math.prod(o[2] for o in outcome)
            shown = tuple(o[1] for o in outcome)
            for i, (selected, _, _) in enumerate(outcome):
                predicted = noise.predicted if selected else noise.predicted_besides
                if predicted:
                    mass[shown, i, symbols[i]] += q * predicted
    return mass
