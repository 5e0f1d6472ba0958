"""Budgets and learning rates, both in tokens read."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from torch import nn
from torch.optim import AdamW

PLACES = 1000
"""At which a budget is looked at for a mean."""


def mean_over_budget(value: Callable[[float], float]) -> float:
    """Mean of what depends on the share of the budget that has been read, at PLACES middles of its parts."""
    values = [value((place + 0.5) / PLACES) for place in range(PLACES)]
    return values[0] if len(set(values)) == 1 else math.fsum(values) / PLACES


def spent_share(tokens: int, budget_tokens: int) -> float:
    """Share of a budget that has been read, at most 1."""
    return min(1.0, tokens / budget_tokens)


def steps_until(share: float, budget_tokens: int, tokens_per_step: int) -> int:
    """Steps after which a share of a budget, up to 1, has been read: the next one is the first to see `spent` of it."""
    step = max(0, math.ceil(share * budget_tokens / tokens_per_step) - 1)
    while spent_share(step * tokens_per_step, budget_tokens) < share:
        step += 1
    return step


@dataclass(frozen=True)
class Budget:
    """How long to train: exactly one of the two.

    Raises:
        ValueError: when neither or both are given, or one is not positive and finite.
    """

    tokens: int | None = None
    """Tokens read, over all devices; rounded up to whole optimiser steps."""
    flops: float | None = None
    """Training operations (forward and backward), turned into tokens by the formula of objectives/training/flops.py
    at the nominal densities of the objective."""

    def __post_init__(self) -> None:
        given = [value for value in (self.tokens, self.flops) if value is not None]
        if len(given) != 1 or not 0 < given[0] < math.inf:
            raise ValueError(f"give a positive, finite budget in tokens or in flops, one of the two, but got {self}")
        if (self.tokens or 0) >= 2**53:
            raise ValueError(f"tokens are counted exactly up to 2^53, but the budget is {self.tokens}")

    def in_tokens(self, flops_per_token: float) -> int:
        """The budget in tokens read."""
        return self.tokens if self.tokens is not None else math.ceil((self.flops or 0) / flops_per_token)


@dataclass(frozen=True)
class OptimizerConfig:
    """AdamW with linear warm-up and then linear or cosine decay, over tokens read.

    Raises:
        ValueError: when the schedule's name is unknown or a number is out of range.
    """

    learning_rate: float = 1e-3
    """Peak learning rate."""
    betas: tuple[float, float] = (0.9, 0.98)
    """AdamW's decay of the two moments (0.98: as in RoBERTa)."""
    eps: float = 1e-8
    """AdamW's epsilon."""
    weight_decay: float = 0.01
    """Decay of the matrices inside the layers; norms, biases and embeddings have none."""
    warmup_tokens: int | None = None
    """Tokens over which the rate rises linearly from 0; 5 % of the budget when not given."""
    decay: Literal["linear", "cosine", "constant"] = "linear"
    """Shape of the decay from the peak to `final_fraction` of it at the end of the budget."""
    final_fraction: float = 0.1
    """Learning rate at the end, in units of the peak."""
    gradient_clip: float = 1.0
    """Largest norm of the gradient; 0 turns clipping off."""

    def __post_init__(self) -> None:
        if self.decay not in ("linear", "cosine", "constant"):
            raise ValueError(f"decay must be linear, cosine or constant, but is {self.decay!r}")
        ranges = {
            "learning_rate": 0 < self.learning_rate < math.inf,
            "betas": all(0 <= beta < 1 for beta in self.betas),
            "eps": 0 < self.eps < math.inf,
            "weight_decay": 0 <= self.weight_decay < math.inf,
            "warmup_tokens": self.warmup_tokens is None or self.warmup_tokens >= 0,
            "final_fraction": 0 <= self.final_fraction <= 1,
            "gradient_clip": 0 <= self.gradient_clip < math.inf,
        }
        if wrong := [f"{name}={getattr(self, name)}" for name, good in ranges.items() if not good]:
            raise ValueError(
                f"{', '.join(wrong)}: learning_rate and eps must be positive and finite, betas in [0, 1), weight_decay "
                f"and gradient_clip not negative and finite, warmup_tokens not negative, final_fraction in [0, 1]"
            )

    def rate(self, tokens: int, budget_tokens: int) -> float:
        """Learning rate of the step after which `tokens` have been read."""
        warmup = self.warmup_tokens if self.warmup_tokens is not None else 0.05 * budget_tokens
        if tokens < warmup:
            return self.learning_rate * tokens / warmup
        left = 1 - min(1.0, (tokens - warmup) / max(budget_tokens - warmup, 1))
        shape = {"linear": left, "cosine": (1 - math.cos(math.pi * left)) / 2, "constant": 1.0}[self.decay]
        return self.learning_rate * (self.final_fraction + (1 - self.final_fraction) * shape)

    def build(self, module: nn.Module, fused: bool = True) -> AdamW:
        """The optimiser for a module's parameters, with weight decay on all matrices but the embeddings.

        A fused one is faster, and leaves out steps for which its `found_inf` is 1.
        """
        embeddings = {id(m.weight) for m in module.modules() if isinstance(m, nn.Embedding)}
        decayed = [p for p in module.parameters() if p.dim() >= 2 and id(p) not in embeddings]
        others = [p for p in module.parameters() if p.dim() < 2 or id(p) in embeddings]
        groups = [
            {"params": decayed, "weight_decay": self.weight_decay},
            {"params": others, "weight_decay": 0.0},
        ]
        return AdamW(groups, lr=self.learning_rate, betas=self.betas, eps=self.eps, fused=fused)
