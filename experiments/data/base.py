"""What every source of blocks shares: the loaders, and what an evaluation asks of it.

B blocks a batch, T tokens a block.
"""

from __future__ import annotations

import itertools
import os
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import torch
from pytorch_lightning import LightningDataModule
from torch import Tensor
from torch.utils.data import DataLoader, IterableDataset, get_worker_info

from experiments.data.encoded import EncodedTask, Pair
from experiments.data.stream import Items, held_out_batches
from objectives import Batch, View, Vocabulary

PARALLELISM = "TOKENIZERS_PARALLELISM"


class BlockData(LightningDataModule, ABC):
    """Blocks of T tokens: an endless training stream, and held-out blocks in a fixed order.

    Args:
        block_length: T, the tokens of a block.
        batch_size: blocks that one device reads at once.
        validation_blocks: at most so many held-out blocks are read in a validation.
        num_workers: processes that read ahead; the batches do not depend on it.
        seed: of the order of the training blocks.
    """

    language: str | None = None
    """"zh" or other; None where the text is no natural language."""

    def __init__(self, block_length: int, batch_size: int, validation_blocks: int, num_workers: int, seed: int) -> None:
        super().__init__()
        positive = {"block_length": block_length, "batch_size": batch_size, "validation_blocks": validation_blocks}
        for name, value in positive.items():
            if value < 1:
                raise ValueError(f"{name}={value} must be positive")
        if seed < 0 or num_workers < 0:
            raise ValueError(f"seed={seed} and num_workers={num_workers} must not be negative")
        self.block_length = block_length
        self.batch_size = batch_size
        self.validation_blocks = validation_blocks
        self.num_workers = num_workers
        self.seed = seed

    @property
    @abstractmethod
    def vocabulary(self) -> Vocabulary:
        """What the objectives have to know of the tokens."""

    @property
    @abstractmethod
    def fingerprints(self) -> dict[str, str]:
        """Hashes of "tokenizer" and "data": equal where two runs read the same text as the same tokens."""

    @property
    @abstractmethod
    def source(self) -> str:
        """Name of the corpus or language."""

    @abstractmethod
    def stream(self, rank: int, world_size: int, start_batch: int) -> Iterable[Items]:
        """Items of the training batches of one rank, without end."""

    @abstractmethod
    def held_out_count(self) -> int:
        """Number of held-out blocks."""

    @abstractmethod
    def read(self, split: str, items: Items) -> Batch:
        """The blocks of some items of "train" or "validation"; called in the process that loads."""

    @abstractmethod
    def probes(self) -> list[EncodedTask]:
        """Labelled tasks in token ids."""

    @abstractmethod
    def word_swap_pairs(self, count: int, longest: int) -> list[Pair]:
        """Up to `count` held-out sentences of at most `longest` tokens, each with a scrambled version."""

    def save_tokenizer(self, directory: Path) -> None:
        """Write the tokenizer into a run's directory, where text is what the tokens stand for."""
        return None

    def ceilings(self) -> dict[str, float]:
        """Best possible results of the probes, by quantity; none where the rules of the text are not known."""
        return {}

    def floor(self, view: View, tokens_BT: Tensor) -> Tensor | None:
        """Lowest possible nats at each asked position of a view, (B, T) float64, 0 elsewhere.

        None where the rules of the text are not known.
        """
        return None

    def train_dataloader(self) -> DataLoader:
        """An endless stream that goes on where the trainer's step count stands."""
        trainer = self.trainer
        start = trainer.global_step * trainer.accumulate_grad_batches if trainer is not None else 0
        return self._loader("train", self.stream(*self._place(), start))

    def val_dataloader(self) -> DataLoader:
        """At most `validation_blocks` held-out blocks, evenly spread; the last batch may be smaller."""
        return self._held_out(self.validation_blocks)

    def test_dataloader(self) -> DataLoader:
        """All held-out blocks."""
        return self._held_out(self.held_out_count())

    def _held_out(self, limit: int) -> DataLoader:
        return self._loader(
            "validation", held_out_batches(self.held_out_count(), limit, self.batch_size, *self._place())
        )

    def _loader(self, split: str, batches: Iterable[Items]) -> DataLoader:
        return _Loader(
            _Batches(self, split, batches),
            batch_size=None,
            num_workers=self.num_workers,
            pin_memory=torch.cuda.is_available(),
            # Its own, or each pass over the held-out blocks would move the global one on.
            generator=torch.Generator(),
        )

    def _place(self) -> tuple[int, int]:
        """Rank and number of ranks."""
        return (0, 1) if self.trainer is None else (self.trainer.global_rank, self.trainer.world_size)


class _Loader(DataLoader):
    """A loader whose workers start without the threads of `tokenizers`, which do not survive a fork and complain.

    Where the user has set the variable, it stands.
    """

    def __iter__(self) -> Any:
        if not self.num_workers or PARALLELISM in os.environ:
            return super().__iter__()
        os.environ[PARALLELISM] = "false"
        try:
            return super().__iter__()
        finally:
            del os.environ[PARALLELISM]


class _Batches(IterableDataset):
    """Batches of blocks for the items given. With workers, batch k comes from worker k mod their number.

    An iterable data set, because Lightning puts its own sampler in place of others when there are several ranks.
    """

    def __init__(self, data: BlockData, split: str, batches: Iterable[Items]) -> None:
        self.data = data
        self.split = split
        self.batches = batches

    def __iter__(self) -> Iterator[Batch]:
        worker = get_worker_info()
        first, step = (worker.id, worker.num_workers) if worker else (0, 1)
        for items in itertools.islice(self.batches, first, None, step):
            yield self.data.read(self.split, items)
