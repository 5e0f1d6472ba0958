"""A language whose rules are known: a hidden Markov chain of states, each of which emits a symbol (Rabiner 1989).

B blocks, L symbols of a block, T positions of a block ([CLS] and [SEP] included: T = L + 2), S states, V symbols.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from experiments.corpora.base import check_split, digest_of
from objectives.training.randomness import Key, uniform
from objectives.vocabulary import Vocabulary

FIRST_SYMBOL = 5
"""Id of symbol 0; symbol s has the id 5 + s. Before it: [PAD]=0 [UNK]=1 [CLS]=2 [SEP]=3 [MASK]=4."""

LARGEST = 10_000
"""States or symbols; the tables of more would not fit into memory."""

SMALLEST_GAP = 1e-6
"""Smallest second singular value of I − transition at which the stationary distribution still counts as unique."""


@dataclass(frozen=True)
class HiddenMarkov:
    """A hidden Markov language: blocks `[CLS] x_1 … x_L [SEP]`, each started from the stationary distribution.

    A block is a function of its split and index alone: there are as many fresh blocks as indices, and none is stored.
    The rows of both tables are Dirichlet draws: the smaller the concentration, the fewer likely successors a state has,
    or likely symbols.

    Raises:
        ValueError: when a size, a concentration or the seed is out of range, or when the drawn chain has parts that
            it never leaves, so that no single stationary distribution exists.
    """

    states: int = 16
    """Number of hidden states, at least 2."""
    symbols: int = 64
    """Number of symbols; the vocabulary has five more ids, the special ones."""
    transition_concentration: float = 0.1
    """Of the Dirichlet distribution of each state's successors; small: nearly deterministic."""
    emission_concentration: float = 0.1
    """Of the Dirichlet distribution of each state's symbols; small: a symbol gives away its state."""
    length: int = 62
    """Symbols of a block; with [CLS] and [SEP] it has two tokens more."""
    seed: int = 0
    """Of the rules and of the blocks; another seed is another language."""

    def __post_init__(self) -> None:
        for name, least in {"states": 2, "symbols": 2, "length": 1, "seed": 0}.items():
            if getattr(self, name) < least:
                raise ValueError(f"{name}={getattr(self, name)} must be at least {least}")
        if self.seed >= 2**63 or max(self.states, self.symbols) > LARGEST:
            raise ValueError(f"states={self.states} and symbols={self.symbols} go up to {LARGEST}, seeds to 2^63 - 1")
        for name in ("transition_concentration", "emission_concentration"):
            if not 0 < getattr(self, name) < float("inf"):
                raise ValueError(
                    f"{name}={getattr(self, name)} must be positive and finite; near 0 the rules are nearly "
                    "deterministic, and at 1 all distributions are equally likely"
                )
        _ = self.initial_S

    @property
    def block_length(self) -> int:
        """T, the tokens of a block."""
        return self.length + 2

    @cached_property
    def transition_SS(self) -> Tensor:
        """p(next state | state), one row a state; (S, S) float64."""
        return torch.from_numpy(self._rules[0])

    @cached_property
    def emission_SV(self) -> Tensor:
        """p(symbol | state), one row a state; (S, V) float64."""
        return torch.from_numpy(self._rules[1])

    @cached_property
    def initial_S(self) -> Tensor:
        """The stationary distribution π = π·transition, by linear solve; (S,) float64."""
        flow_SS = torch.eye(self.states, dtype=torch.float64) - self.transition_SS.T
        gap = float(torch.linalg.svdvals(flow_SS)[-2])
        if gap < SMALLEST_GAP:
            raise ValueError(
                f"with transition_concentration={self.transition_concentration} and seed={self.seed} the chain has "
                f"parts that it (almost) never leaves: its stationary distribution is not unique (second singular "
                f"value {gap:.1e}, needed {SMALLEST_GAP}). Raise transition_concentration or take another seed"
            )
        # The columns of I − transitionᵀ sum to 0, so one row is redundant: Σ π = 1 takes its place.
        flow_SS[-1] = 1.0
        weight_S = torch.linalg.solve(flow_SS, torch.eye(self.states, dtype=torch.float64)[-1]).clamp(min=0)
        return weight_S / weight_S.sum()

    @cached_property
    def _rules(self) -> tuple[np.ndarray, np.ndarray]:
        generator = np.random.Generator(np.random.Philox(self.seed))
        transition = generator.dirichlet([self.transition_concentration] * self.states, self.states)
        emission = generator.dirichlet([self.emission_concentration] * self.symbols, self.states)
        return transition, emission

    def vocabulary(self) -> Vocabulary:
        """Five special ids, then the symbols."""
        return Vocabulary(FIRST_SYMBOL + self.symbols, 0, 1, 2, 3, 4, tuple(range(FIRST_SYMBOL)))

    def sample(self, split: str, index_B: Tensor) -> tuple[Tensor, Tensor]:
        """The states and symbols of the blocks with the given int64 indices, each (B, L) int64.

        The splits "train", "validation" and "probe" are independent streams. A block does not depend on the others of
        its batch.
        """
        check_split(split)
        key = Key(self.seed, torch.zeros_like(index_B), index_B)
        step_BL = uniform(key, f"hidden Markov {split} states", self.length)
        emit_BL = uniform(key, f"hidden Markov {split} symbols", self.length)
        transition_SS = _cumulative(self.transition_SS)
        state_B = _invert(_cumulative(self.initial_S), step_BL[:, 0].contiguous())
        path = [state_B]
        for step_B in step_BL.T[1:].contiguous():
            state_B = _invert(transition_SS[state_B], step_B[:, None])[:, 0]
            path.append(state_B)
        states_BL = torch.stack(path, dim=1)
        symbols_BL = _invert(_cumulative(self.emission_SV)[states_BL], emit_BL[..., None])[..., 0]
        return states_BL, symbols_BL

    def tokens_BT(self, symbols_BL: Tensor) -> Tensor:
        """The blocks `[CLS] x_1 … x_L [SEP]` as token ids, (B, L + 2) int64."""
        vocabulary = self.vocabulary()
        ends_B1 = torch.ones_like(symbols_BL[:, :1])
        return torch.cat([ends_B1 * vocabulary.cls, symbols_BL + FIRST_SYMBOL, ends_B1 * vocabulary.sep], dim=1)

    def fingerprint(self) -> str:
        """Hash of all that decides the blocks: the settings, and the rules to nine digits.

        Not to the last bit, in which machines differ without the language being another.
        """
        rules = [f"{value:.9e}" for table in self._rules for value in table.ravel()]
        return digest_of("hidden Markov", 1, self, rules)


def _cumulative(probability: Tensor) -> Tensor:
    """Cumulative distribution along the last dimension; it ends in exactly 1, so that any draw in [0, 1) has a rank."""
    cumulative = probability.cumsum(-1)
    return cumulative / cumulative[..., -1:]


def _invert(cumulative: Tensor, draw: Tensor) -> Tensor:
    """Ranks whose interval [cdf before, cdf at) holds the draw; that of a rank of probability 0 is empty."""
    return torch.searchsorted(cumulative, draw, right=True)
