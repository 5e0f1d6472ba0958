"""Which blocks come when, and the batches made of them.

B blocks a batch, T tokens a block, W ranks.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator

import numpy as np
import torch
from torch.utils.data import IterableDataset, get_worker_info

from experiments.packed import Packed
from objectives.base import Batch
from objectives.randomness import EVALUATION_EPOCH

Items = list[tuple[int, int]]
"""(epoch, index of the block in its split) of each row of a batch."""


class BlockStream:
    """The items of each batch, without end: epoch e's order is the permutation drawn from Philox(key=[seed,
    e]).

    The stream goes on over the ends of epochs, so a batch may hold blocks of two. Of each global batch of W·B
    items, rank r takes the r-th B.

    Args:
        blocks: number of blocks in the split.
        batch_size: B, the batch of one rank.
        seed: of the order; not negative.
        rank: r, from 0 to W - 1.
        world_size: W.
        start_batch: number of batches to skip, at no cost.
    """

    def __init__(
        self,
        blocks: int,
        batch_size: int,
        seed: int = 0,
        rank: int = 0,
        world_size: int = 1,
        start_batch: int = 0,
    ) -> None:
        if blocks < 1 or batch_size < 1 or seed < 0 or not 0 <= rank < world_size or start_batch < 0:
            raise ValueError(
                f"no stream: blocks={blocks}, batch_size={batch_size}, seed={seed}, rank={rank}/{world_size} "
                f"and start_batch={start_batch}: the first two must be positive, the others not negative"
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

    An iterable data set, because Lightning puts its own sampler in place of others when there are several
    ranks.
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


def held_out_batches(blocks: int, limit: int, batch_size: int, rank: int = 0, world_size: int = 1) -> list[Items]:
    """Items of at most `limit` blocks, evenly spread over all, in ascending order and in the evaluation
    epoch.

    Ranks take turns, and get equally many: up to W - 1 blocks are left out.
    """
    kept = min(blocks, limit)
    kept = max(kept - kept % world_size, 1)
    chosen = [place * blocks // kept for place in range(kept)][rank::world_size]
    items = [(EVALUATION_EPOCH, index) for index in chosen]
    return [items[start : start + batch_size] for start in range(0, len(items), batch_size)]
