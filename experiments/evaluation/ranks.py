"""The processes that train one model together, each of which measures its part of the blocks."""

from __future__ import annotations

from torch import Tensor, distributed


def rank_and_count() -> tuple[int, int]:
    """Which of the processes this is, and how many there are: 0 and 1 outside of such training."""
    if not _several():
        return 0, 1
    return distributed.get_rank(), distributed.get_world_size()


def summed(sums: Tensor) -> Tensor:
    """The sum of what each process has. All have to ask for it, in the same order."""
    if not _several():
        return sums
    total = sums.clone()
    distributed.all_reduce(total)
    return total


def _several() -> bool:
    return distributed.is_available() and distributed.is_initialized()
