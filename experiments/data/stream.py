"""Which blocks are read when: a pure function of seed, rank and number of the batch.

B blocks a batch, W ranks.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np

from objectives import EVALUATION_EPOCH

Items = list[tuple[int, int]]
"""(epoch, index of the block in its split) of each row of a batch."""


class BlockStream:
    """The items of each batch, without end: epoch e's order is the permutation drawn from Philox(key=[seed, e]).

    The stream runs on across epochs, so a batch may hold blocks of two. Of each global batch of W·B items,
    rank r takes the r-th B.

    Args:
        blocks: number of blocks in the split.
        batch_size: B, the batch of one rank.
        seed: of the order; not negative.
        rank: r, from 0 to W - 1.
        world_size: W.
        start_batch: number of batches to skip, which takes no time.
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
            items = []
            for place in places(batch, self.batch_size, self.rank, self.world_size):
                epoch, position = divmod(place, self.blocks)
                if epoch != held:
                    held, order = epoch, self.order(epoch)
                items.append((epoch, int(order[position])))
            yield items

    def order(self, epoch: int) -> np.ndarray:
        """The order of the blocks in an epoch."""
        return np.random.Generator(np.random.Philox(key=[self.seed, epoch])).permutation(self.blocks)


class FreshStream:
    """The items of a split that never ends: each block is read once, and no two seeds read the same.

    Args:
        batch_size, seed, rank, world_size, start_batch: as for BlockStream.
    """

    BLOCKS_PER_SEED = 2**30
    SEEDS = 2**32

    def __init__(self, batch_size: int, seed: int, rank: int, world_size: int, start_batch: int) -> None:
        if seed >= self.SEEDS:
            raise ValueError(f"seed {seed} is too large for generated data; take one below {self.SEEDS}")
        self.batch_size, self.seed, self.rank, self.world_size = batch_size, seed, rank, world_size
        self.start_batch = start_batch

    def __iter__(self) -> Iterator[Items]:
        first = self.seed * self.BLOCKS_PER_SEED
        for batch in itertools.count(self.start_batch):
            yield [(0, first + place) for place in places(batch, self.batch_size, self.rank, self.world_size)]


def places(batch: int, batch_size: int, rank: int, world_size: int) -> range:
    """Places in the stream of all ranks that one rank's batch takes."""
    first = (batch * world_size + rank) * batch_size
    return range(first, first + batch_size)


def validation_items(blocks: int, limit: int, batch_size: int, rank: int = 0, world_size: int = 1) -> list[Items]:
    """Items of the validation batches: at most `limit` of the blocks, evenly spread over all and in ascending order.

    Ranks take turns, and get equally many: up to W - 1 blocks are left out. The epoch is that of evaluations.
    """
    kept = min(blocks, limit)
    kept = max(kept - kept % world_size, 1)
    chosen = [place * blocks // kept for place in range(kept)][rank::world_size]
    items = [(EVALUATION_EPOCH, index) for index in chosen]
    return [items[start : start + batch_size] for start in range(0, len(items), batch_size)]
