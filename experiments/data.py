"""The stream of training blocks and the held-out blocks, as a LightningDataModule."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property

import torch
from pytorch_lightning import LightningDataModule
from torch.utils.data import DataLoader

from experiments.block_stream import BlockBatches, BlockStream, Items, held_out_batches
from experiments.corpora.base import Corpus
from experiments.packed import Packed
from experiments.packing import pack
from experiments.token_stream import forbid_parallel_encoding
from experiments.tokenizer import Tokenizer, TokenizerConfig
from objectives.vocabulary import Vocabulary

__all__ = ["BlockStream", "TextData"]


class TextData(LightningDataModule):
    """A corpus as blocks of tokens: an endless training stream, and held-out blocks in a fixed order.

    Args:
        corpus: where the text comes from.
        tokenizer: how it is cut into tokens.
        block_length: T, the tokens of a block; at most what the encoder can read.
        batch_size: blocks that one device reads at once.
        validation_blocks: at most so many held-out blocks are read in a validation, evenly spread over all of
            them.
        num_workers: processes that read ahead; the batches do not depend on it.
        seed: of the order of the training blocks.
        root: directory below which packed data is kept and shared.
    """

    def __init__(
        self,
        corpus: Corpus,
        tokenizer: TokenizerConfig = TokenizerConfig(),  # noqa: B008 - frozen
        block_length: int = 128,
        batch_size: int = 32,
        validation_blocks: int = 256,
        num_workers: int = 0,
        seed: int = 0,
        root: str = "results/data",
    ) -> None:
        super().__init__()
        positive = {
            "block_length": block_length,
            "batch_size": batch_size,
            "validation_blocks": validation_blocks,
        }
        for name, value in positive.items():
            if value < 1:
                raise ValueError(f"{name}={value} must be positive")
        if seed < 0 or num_workers < 0:
            raise ValueError(f"seed={seed} and num_workers={num_workers} must not be negative")
        self.corpus = corpus
        self.tokenizer_config = tokenizer
        self.block_length = block_length
        self.batch_size = batch_size
        self.validation_blocks = validation_blocks
        self.num_workers = num_workers
        self.seed = seed
        self.root = root

    @cached_property
    def packed(self) -> Packed:
        """The packed corpus; built on first use."""
        return pack(self.corpus, self.tokenizer_config, self.block_length, self.root)

    @property
    def tokenizer(self) -> Tokenizer:
        return self.packed.tokenizer

    @cached_property
    def vocabulary(self) -> Vocabulary:
        return self.tokenizer.vocabulary(self.packed.characters_per_token)

    def prepare_data(self) -> None:
        _ = self.packed

    def train_dataloader(self) -> DataLoader:
        """An endless stream that goes on where the trainer's step count stands."""
        rank, world_size = self._place()
        trainer = self.trainer
        start = trainer.global_step * trainer.accumulate_grad_batches if trainer is not None else 0
        blocks = self.packed.block_count("train")
        return self._loader("train", BlockStream(blocks, self.batch_size, self.seed, rank, world_size, start))

    def val_dataloader(self) -> DataLoader:
        """At most `validation_blocks` held-out blocks, evenly spread; the last batch may be smaller."""
        return self._held_out(self.validation_blocks)

    def test_dataloader(self) -> DataLoader:
        """All held-out blocks."""
        return self._held_out(self.packed.block_count("validation"))

    def _held_out(self, limit: int) -> DataLoader:
        rank, world_size = self._place()
        batches = held_out_batches(self.packed.block_count("validation"), limit, self.batch_size, rank, world_size)
        return self._loader("validation", batches)

    def _loader(self, split: str, batches: Iterable[Items]) -> DataLoader:
        if self.num_workers:
            forbid_parallel_encoding()
        return DataLoader(
            BlockBatches(self.packed, split, batches),
            batch_size=None,
            num_workers=self.num_workers,
            pin_memory=torch.cuda.is_available(),
            # Its own, or each pass over the held-out blocks would move the global one on.
            generator=torch.Generator(),
        )

    def _place(self) -> tuple[int, int]:
        if self.trainer is None:
            return 0, 1
        return self.trainer.global_rank, self.trainer.world_size
