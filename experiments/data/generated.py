"""A language whose rules are known, as an endless stream of fresh blocks.

B blocks, L symbols of a block, T tokens of a block.
"""

from __future__ import annotations

from functools import cached_property
from typing import get_args

import torch
from torch import Tensor

from experiments.data.base import BlockData
from experiments.data.evaluation_inputs import EncodedTask, EncodedText
from experiments.data.stream import FreshStream, Items
from experiments.languages.hidden_markov import FIRST_SYMBOL, HiddenMarkov
from experiments.languages.hidden_markov_bayes import (
    StateView,
    bayes_accuracy,
    bayes_loss,
    clm_bayes_loss,
    state_posteriors,
)
from objectives import Batch, View, Vocabulary

MOST_BLOCKS = 1_000_000
"""To measure on; they are generated whole."""


class GeneratedData(BlockData):
    """Blocks of a hidden Markov language: none is read twice, and the Bayes losses are known. Nothing is prepared.

    Args:
        rules: the language.
        batch_size: blocks that one device reads at once.
        validation_blocks: number of validation blocks; the same ones for every run. Four times as many halve the
            standard error of a loss, and the time to measure it is in proportion.
        probe_train: blocks from which the probe learns to name the hidden states.
        probe_test: blocks on which it is tested, and for which the Bayes accuracies are given.
        num_workers: processes that read ahead; the batches do not depend on it.
        seed: which of the endless training blocks are read.
    """

    measured_on = (*BlockData.measured_on, "probe_train", "probe_test")

    def __init__(
        self,
        rules: HiddenMarkov,
        batch_size: int = 64,
        validation_blocks: int = 1024,
        probe_train: int = 300,
        probe_test: int = 300,
        num_workers: int = 0,
        seed: int = 0,
    ) -> None:
        super().__init__(rules.block_length, batch_size, validation_blocks, num_workers, seed)
        if validation_blocks < 2:
            raise ValueError(
                f"validation_blocks={validation_blocks} must be at least 2: one block has no standard error"
            )
        if min(probe_train, probe_test) < 1:
            raise ValueError(f"probe_train={probe_train} and probe_test={probe_test} must be at least 1")
        if max(probe_train, probe_test, validation_blocks) > MOST_BLOCKS:
            raise ValueError(
                f"validation_blocks={validation_blocks}, probe_train={probe_train} and probe_test={probe_test} go up "
                f"to {MOST_BLOCKS:,}"
            )
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

    def validation_block_count(self) -> int:
        return self.validation_blocks

    def batch_of(self, split: str, items: Items) -> Batch:
        epoch_B, index_B = torch.tensor(items, dtype=torch.int64).reshape(-1, 2).T.contiguous()
        _, symbols_BL = self.rules.sample(split, index_B)
        return Batch(self.rules.tokens_BT(symbols_BL), epoch_B, index_B)

    @cached_property
    def labelled_tasks(self) -> list[EncodedTask]:
        """One task: the hidden state at each token."""
        states_BL, symbols_BL = self._probe_blocks()
        texts = [
            EncodedText((symbols_L + FIRST_SYMBOL).tolist(), tuple(map(str, states_L.tolist())))
            for states_L, symbols_L in zip(states_BL, symbols_BL, strict=True)
        ]
        return [EncodedTask("states", "token", texts[: self.probe_train], texts[self.probe_train :])]

    @cached_property
    def bayes_accuracies(self) -> dict[str, dict[str, Tensor]]:
        """Of the states in the probe's test blocks: from the "token" alone, from the "past" too, from "both" sides."""
        _, symbols_BL = self._probe_blocks()
        tested_BL = symbols_BL[self.probe_train :]
        views: tuple[StateView, ...] = get_args(StateView)
        return {"states": {view: bayes_accuracy(state_posteriors(self.rules, tested_BL, view)) for view in views}}

    def validation_sentences(self, count: int) -> list[list[int]]:
        """The first `count` validation blocks."""
        _, symbols_BL = self.rules.sample("validation", torch.arange(count))
        return (symbols_BL + FIRST_SYMBOL).tolist()

    def bayes_loss(self, view: View, tokens_BT: Tensor) -> Tensor | None:
        """As of the base class; known wherever the view has a channel."""
        return bayes_loss(self.rules, view, tokens_BT)

    def sentence_nats(self, sentences: list[list[int]]) -> Tensor:
        """As of the base class; known for all blocks."""
        return clm_bayes_loss(self.rules, self.rules.tokens_BT(torch.tensor(sentences) - FIRST_SYMBOL)).sum(1)

    def _probe_blocks(self) -> tuple[Tensor, Tensor]:
        return self.rules.sample("probe", torch.arange(self.probe_train + self.probe_test))
