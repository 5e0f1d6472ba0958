"""Rates, of masking and other shares: one for all blocks, one that changes over the budget, one drawn for each block.

B blocks.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from objectives.training.randomness import Key, uniform

STRATA = 32
"""Blocks of successive indices whose stratified rates fill the whole range together."""


class Rate(ABC):
    """A rate for each block; a subclass is a frozen dataclass, its fields are its settings."""

    @property
    @abstractmethod
    def name(self) -> str:
        """What the records call it, such as 15 %."""

    @abstractmethod
    def mean(self, spent: float) -> float:
        """Its mean over blocks, when a share `spent` of the budget has been read."""

    @abstractmethod
    def over_budget(self) -> float:
        """Its mean over blocks and over the budget."""

    def one(self, spent: float) -> float | None:
        """That of all blocks, when a share `spent` of the budget has been read; None where they have several."""
        return self.mean(spent)

    @property
    def switches(self) -> tuple[float, ...]:
        """Shares of the budget, in (0, 1), at which it changes at once."""
        return ()

    def of_blocks(self, key: Key) -> Tensor:
        """That of each block, (B, 1) float64; a pure function."""
        return torch.full_like(key.index_B, self.mean(key.spent), dtype=torch.float64)[:, None]


@dataclass(frozen=True)
class Constant(Rate):
    """The same in all blocks at all times."""

    value: float

    @property
    def name(self) -> str:
        return percent(self.value)

    def mean(self, spent: float) -> float:
        return self.value

    def over_budget(self) -> float:
        return self.value


@dataclass(frozen=True)
class Scheduled(Rate):
    """The same in all blocks, and another as the budget is spent (Ankner et al. 2024: 30 to 15 %, linearly).

    Raises:
        ValueError: when a rate is outside [0, 1], the switch outside (0, 1), or the shape another.
    """

    start: float
    """At the beginning of the budget."""
    end: float
    """At its end."""
    shape: Literal["linear", "cosine", "step"] = "linear"
    """How it gets there; step changes at once, at the switch."""
    switch: float = 0.5
    """Share of the budget after which a step changes; the other shapes have no use for it."""

    def __post_init__(self) -> None:
        if not (0 <= self.start <= 1 and 0 <= self.end <= 1):
            raise ValueError(f"a schedule leads from a rate in [0, 1] to another, but not {self.start} to {self.end}")
        if self.shape not in ("linear", "cosine", "step") or not 0 < self.switch < 1:
            raise ValueError(
                f"a schedule is linear, cosine or step, and its switch a share of the budget in (0, 1), but they are "
                f"{self.shape!r} and {self.switch}"
            )

    @property
    def name(self) -> str:
        where = f" at {percent(self.switch)} of the budget" if self.shape == "step" else ""
        return f"{100 * self.start:g} → {percent(self.end)}, {self.shape}{where}"

    @property
    def switches(self) -> tuple[float, ...]:
        return (self.switch,) if self.shape == "step" else ()

    def mean(self, spent: float) -> float:
        done = {"linear": spent, "cosine": (1 - math.cos(math.pi * spent)) / 2, "step": float(spent >= self.switch)}
        return self.start + (self.end - self.start) * done[self.shape]

    def over_budget(self) -> float:
        share = self.switch if self.shape == "step" else 0.5  # linear and cosine are symmetric about their middle
        return share * self.start + (1 - share) * self.end


@dataclass(frozen=True)
class Drawn(Rate):
    """One for each block, uniform over (low, high].

    Raises:
        ValueError: unless 0 <= low < high <= 1.
    """

    low: float
    high: float

    def __post_init__(self) -> None:
        if not 0 <= self.low < self.high <= 1:
            raise ValueError(f"rates are drawn from (low, high] within (0, 1], but these are {self.low}, {self.high}")

    @property
    def name(self) -> str:
        return f"{100 * self.low:g} to {percent(self.high)}"

    def mean(self, spent: float) -> float:
        return (self.low + self.high) / 2

    def over_budget(self) -> float:
        return self.mean(1.0)

    def one(self, spent: float) -> float | None:
        return None

    def of_blocks(self, key: Key) -> Tensor:
        return self.high - (self.high - self.low) * uniform(key, "rate", 1)


@dataclass(frozen=True)
class Stratified(Drawn):
    """As Drawn, but evenly spread: of each STRATA blocks of successive indices (from a multiple of STRATA on) one has
    its rate in each of so many equal parts of the range.

    Each rate alone is uniform over the whole range. The parts are dealt out in a random order, anew for every STRATA
    blocks, so blocks that are picked at equal distances are not given similar rates.
    """

    @property
    def name(self) -> str:
        return f"{super().name}, stratified"

    def of_blocks(self, key: Key) -> Tensor:
        dealt = key._replace(index_B=key.index_B // STRATA)
        part_BS = uniform(dealt, "rate strata", STRATA).argsort(1)
        part_B1 = part_BS.gather(1, (key.index_B % STRATA)[:, None])
        return self.high - (self.high - self.low) * (part_B1 + uniform(key, "rate", 1)) / STRATA


def as_rate(rate: float | Rate) -> Rate:
    """A number as the rate of all blocks."""
    return rate if isinstance(rate, Rate) else Constant(rate)


def check_rates(*rates: float) -> None:
    """Raises ValueError when a rate is outside (0, 1]."""
    for rate in rates:
        if not 0 < rate <= 1:
            raise ValueError(f"the mask rate must be in (0, 1], but is {rate}")


def percent(share: float) -> str:
    return f"{100 * share:g} %"
