"""A language whose rules are known, as fresh blocks without end.

B blocks, L symbols of a block, T tokens of a block.
"""

from __future__ import annotations

import torch
from torch import Tensor

from experiments.data.base import BlockData
from experiments.data.encoded import EncodedTask, EncodedText, Pair
from experiments.data.stream import FreshStream, Items
from experiments.languages.hidden_markov import SPECIALS, HiddenMarkov
from experiments.languages.hidden_markov_bayes import (
    bayes_accuracy,
    clm_bayes_loss,
    mlm_bayes_loss,
    state_posteriors,
)
from objectives import Batch, Corruption, View, Vocabulary


class GeneratedData(BlockData):
    """Blocks of a hidden Markov language: never the same twice, and with the best possible loss known.

    Args:
        rules: the language.
        batch_size: blocks that one device reads at once.
        validation_blocks: held-out blocks; the same for every run.
        probe_train: blocks from which the probe learns to name the hidden states.
        probe_test: blocks on which it is tested, and for which the ceilings are given.
        num_workers: processes that read ahead; the batches do not depend on it.
        seed: which of the endless training blocks are read.
    """

    def __init__(
        self,
        rules: HiddenMarkov,
        batch_size: int = 64,
        validation_blocks: int = 256,
        probe_train: int = 300,
        probe_test: int = 300,
        num_workers: int = 0,
        seed: int = 0,
    ) -> None:
        super().__init__(rules.block_length, batch_size, validation_blocks, num_workers, seed)
        if min(probe_train, probe_test) < 1:
            raise ValueError(f"probe_train={probe_train} and probe_test={probe_test} must be at least 1")
        self.rules = rules
        self.probe_train, self.probe_test = probe_train, probe_test

    @property
    def vocabulary(self) -> Vocabulary:
        return self.rules.vocabulary()

    @property
    def fingerprints(self) -> dict[str, str]:
        return {"tokenizer": "symbols", "data": self.rules.fingerprint()}

    @property
    def source(self) -> str:
        return type(self.rules).__name__

    def stream(self, rank: int, world_size: int, start_batch: int) -> FreshStream:
        return FreshStream(self.batch_size, self.seed, rank, world_size, start_batch)

    def held_out_count(self) -> int:
        return self.validation_blocks

    def read(self, split: str, items: Items) -> Batch:
        epoch_B, index_B = torch.tensor(items, dtype=torch.int64).reshape(-1, 2).T.contiguous()
        _, symbols_BL = self.rules.sample(split, index_B)
        return Batch(self.rules.tokens_BT(symbols_BL), epoch_B, index_B)

    def probes(self) -> list[EncodedTask]:
        """One task: the hidden state at each token."""
        states_BL, symbols_BL = self._probe_blocks()
        texts = [
            EncodedText((symbols_L + SPECIALS).tolist(), tuple(map(str, states_L.tolist())))
            for states_L, symbols_L in zip(states_BL, symbols_BL, strict=True)
        ]
        return [EncodedTask("states", "token", texts[: self.probe_train], texts[self.probe_train :])]

    def ceilings(self) -> dict[str, float]:
        """Accuracy of the best possible guess of the states in the probe's test blocks, from the token alone, from
        the past as well, and from both sides."""
        states_BL, symbols_BL = (part[self.probe_train :] for part in self._probe_blocks())
        return {
            f"probe/states/bayes_accuracy_{view}": bayes_accuracy(
                state_posteriors(self.rules, symbols_BL, view), states_BL
            ).expected
            for view in ("token", "past", "both")
        }

    def word_swap_pairs(self, count: int, longest: int) -> list[Pair]:
        """Held-out blocks against themselves with two adjacent symbols swapped, the first that differ from the
        middle on.

        Raises:
            ValueError: when a block is longer than `longest`: a part of one would be no block of the language.
        """
        if longest < self.rules.length:
            raise ValueError(
                f"a block has {self.rules.length} symbols, more than evaluation.longest_sentence {longest}; raise it, "
                f"or leave these pairs out with evaluation.word_swap_pairs 0"
            )
        _, symbols_BL = self.rules.sample("validation", torch.arange(count))
        pairs = []
        for real in (symbols_BL + SPECIALS).tolist():
            order = [*range(len(real) // 2, len(real) - 1), *range(len(real) // 2)]
            place = next((place for place in order if real[place] != real[place + 1]), None)
            if place is not None:
                pairs.append((real, [*real[:place], real[place + 1], real[place], *real[place + 2 :]]))
        return pairs

    def floor(self, view: View, tokens_BT: Tensor) -> Tensor:
        """Lowest possible −log p at each asked position of a view, (B, T) float64, 0 where nothing is asked.

        Raises:
            ValueError: for a question whose floor is not known.
        """
        if isinstance(view.channel, Corruption):
            return mlm_bayes_loss(self.rules, view.inputs_BT, view.targets_BT, view.channel)
        if isinstance(view.attention, str) and view.attention == "causal":
            return clm_bayes_loss(self.rules, tokens_BT)
        raise ValueError("the lowest possible loss is known for next-token questions and for BERT's corruption only")

    def _probe_blocks(self) -> tuple[Tensor, Tensor]:
        return self.rules.sample("probe", torch.arange(self.probe_train + self.probe_test))
