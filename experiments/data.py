"""The stream of training blocks and the held-out blocks, as a LightningDataModule.

B blocks a batch, T tokens a block, W ranks.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from functools import cached_property

import numpy as np
import torch
from pytorch_lightning import LightningDataModule
from torch.utils.data import DataLoader, IterableDataset, get_worker_info

from experiments.corpora.base import Corpus
from experiments.packing import Packed, pack
from experiments.token_stream import forbid_parallel_encoding
from experiments.tokenizer import Tokenizer, TokenizerConfig
from objectives.base import Batch
from objectives.randomness import EVALUATION_EPOCH
from objectives.vocabulary import Vocabulary

Items = list[tuple[int, int]]
"""(epoch, index of the block in its split) of each row of a batch."""


class BlockStream:
    """The items of each batch, without end: epoch e's order is the permutation drawn from Philox(key=[seed, e]).

    The stream goes on over the ends of epochs, so a batch may hold blocks of two. Of each global batch of W·B items,
    rank r takes the r-th B.

    Args:
        blocks: number of blocks in the split.
        batch_size: B, the batch of one rank.
        seed: of the order; not negative.
        rank: r, from 0 to W - 1.
        world_size: W.
        start_batch: number of batches to skip, at no cost.
    """

    def __init__(
        self, blocks: int, batch_size: int, seed: int = 0, rank: int = 0, world_size: int = 1, start_batch: int = 0
    ) -> None:
        if blocks < 1 or batch_size < 1 or seed < 0 or not 0 <= rank < world_size or start_batch < 0:
            raise ValueError(
                f"no stream of blocks={blocks}, batch_size={batch_size}, seed={seed}, rank={rank} of {world_size}, "
                f"start_batch={start_batch}: the first two must be positive, the others not negative"
            )
        self.blocks = blocks
        self.batch_size = batch_size
        self.seed = seed
        self.rank = rank
        self.world_size = world_size
        self.start_batch = start_batch

    def __iter__(self) -> Iterator[Items]:
        held, order = -1, np.empty(0, np.int64)
        for batch in itertools.count(self.start_batch):
            first = (batch * self.world_size + self.rank) * self.batch_size
            items = []
            for place in range(first, first + self.batch_size):
                epoch, position = divmod(place, self.blocks)
                if epoch != held:
                    held, order = epoch, self.order(epoch)
                items.append((epoch, int(order[position])))
            yield items

    def order(self, epoch: int) -> np.ndarray:
        """The order of the blocks in an epoch."""
        return np.random.Generator(np.random.Philox(key=[self.seed, epoch])).permutation(self.blocks)


class BlockBatches(IterableDataset):
    """Batches of blocks for the items given. With workers, batch k comes from worker k mod their number.

    An iterable data set, because Lightning puts its own sampler in place of others when there are several ranks.
    """

    def __init__(self, packed: Packed, split: str, batches: Iterable[Items]) -> None:
        self.packed = packed
        self.split = split
        self.batches = batches

    def __iter__(self) -> Iterator[Batch]:
        # Mapped here and not before: a mapped array that is pickled for a worker would be read whole.
        blocks = self.packed.blocks(self.split)
        worker = get_worker_info()
        first, step = (worker.id, worker.num_workers) if worker else (0, 1)
        for items in itertools.islice(self.batches, first, None, step):
            yield read_batch(blocks, items)


def read_batch(blocks: np.ndarray, items: Items) -> Batch:
    """The blocks of some items, as int64."""
    items_B2 = torch.tensor(items, dtype=torch.int64).reshape(-1, 2)
    tokens_BT = torch.from_numpy(blocks[items_B2[:, 1].numpy()].astype(np.int64))
    return Batch(tokens_BT, epoch_B=items_B2[:, 0].clone(), index_B=items_B2[:, 1].clone())


class TextData(LightningDataModule):
    """A corpus as blocks of tokens: an endless training stream, and held-out blocks in a fixed order.

    Args:
        corpus: where the text comes from.
        tokenizer: how it is cut into tokens.
        block_length: T, the tokens of a block; at most what the encoder can read.
        batch_size: blocks that one device reads at once.
        validation_blocks: at most so many held-out blocks are read in a validation, evenly spread over all of them.
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
        positive = {"block_length": block_length, "batch_size": batch_size, "validation_blocks": validation_blocks}
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
        )

    def _place(self) -> tuple[int, int]:
        if self.trainer is None:
            return 0, 1
        return self.trainer.global_rank, self.trainer.world_size


def held_out_batches(blocks: int, limit: int, batch_size: int, rank: int = 0, world_size: int = 1) -> list[Items]:
    """Items of at most `limit` blocks, evenly spread over all, in ascending order and in the evaluation epoch.

    Ranks take turns, and get equally many: up to W - 1 blocks are left out.
    """
    kept = min(blocks, limit)
    kept = max(kept - kept % world_size, 1)
    chosen = [place * blocks // kept for place in range(kept)][rank::world_size]
    items = [(EVALUATION_EPOCH, index) for index in chosen]
    return [items[start : start + batch_size] for start in range(0, len(items), batch_size)]
