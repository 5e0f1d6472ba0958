"""Random numbers without state: each draw is a hash of what it is for.

The mask of a block depends on (seed, purpose, epoch, block index, position) alone: not on batch size, order, number of
workers, rank or device, nor on whether the run was resumed.

B blocks, T positions.
"""

from __future__ import annotations

import zlib
from typing import NamedTuple

import torch
from torch import Tensor

EVALUATION_EPOCH = 2**31 - 1
"""The epoch under which every evaluation draws its masks; no training reaches it."""

_GOLDEN = -0x61C8864680B583EB  # 0x9E3779B97F4A7C15, the increment of splitmix64, as a signed integer
_FIRST = -0x40A7B892E31B1A47  # 0xBF58476D1CE4E5B9
_SECOND = -0x6B2FB644ECCEEE15  # 0x94D049BB133111EB


class Key(NamedTuple):
    """What a view of blocks is made by, besides their tokens: what each draw is for, how far training is, and words."""

    seed: int
    epoch_B: Tensor
    """The pass over the data, (B,) int64."""
    index_B: Tensor
    """The block in it, (B,) int64."""
    spent: float = 1.0
    """Share of the budget that has been read, from 0 to 1; no draw depends on it."""
    word_starts_BT: Tensor | None = None
    """True where a token begins a word, as in `Batch`; None where the data knows no words."""


def evaluation_key(index_B: Tensor, word_starts_BT: Tensor | None = None) -> Key:
    """The key of validation blocks: the same in every run, whatever its seed, and at every evaluation.

    What changes over the budget is evaluated as it is at its end.
    """
    return Key(0, torch.full_like(index_B, EVALUATION_EPOCH), index_B, word_starts_BT=word_starts_BT)


def uniform(key: Key, purpose: str, length: int) -> Tensor:
    """Numbers in [0, 1), (B, length) float64 with 53 random bits each."""
    state_B = torch.full_like(key.index_B, key.seed)
    for part in (zlib.crc32(purpose.encode()), key.epoch_B, key.index_B):
        state_B = splitmix64(state_B + part)
    positions_T = torch.arange(length, device=state_B.device)
    bits_BT = splitmix64(state_B[:, None] + positions_T)
    return _shift_right(bits_BT, 11).to(torch.float64) * 2.0**-53


def splitmix64(state: Tensor) -> Tensor:
    """One step of Steele, Lea & Flood's splitmix64 (OOPSLA 2014) in wrapping int64 arithmetic; same shape."""
    state = state + _GOLDEN
    state = (state ^ _shift_right(state, 30)) * _FIRST
    state = (state ^ _shift_right(state, 27)) * _SECOND
    return state ^ _shift_right(state, 31)


def _shift_right(bits: Tensor, count: int) -> Tensor:
    return (bits >> count) & ((1 << (64 - count)) - 1)
