"""What was read, what was predicted and what it cost: counted, and kept as float64 sums."""

from __future__ import annotations

import torch
from torch import Tensor
from torchmetrics import Metric


class Ledger(Metric):
    """Totals of a training run. float64 counts every token exactly up to 2^53; float32 stalls at 2^24.

    Counts are summed over ranks; seconds are those of the slowest rank.
    """

    full_state_update = False
    tokens: Tensor
    selected: Tensor
    corrupted: Tensor
    targets: Tensor
    flops: Tensor
    nats: Tensor
    weight: Tensor
    seconds: Tensor

    def __init__(self) -> None:
        super().__init__()
        for name in ("tokens", "selected", "corrupted", "targets", "flops", "nats", "weight"):
            self.add_state(name, torch.zeros((), dtype=torch.float64), dist_reduce_fx="sum")
        self.add_state("seconds", torch.zeros((), dtype=torch.float64), dist_reduce_fx="max")

    def update(
        self,
        tokens: float = 0,
        selected: Tensor | float = 0,
        corrupted: Tensor | float = 0,
        targets: Tensor | float = 0,
        flops: Tensor | float = 0,
        nats: Tensor | float = 0,
        weight: float = 0,
        seconds: float = 0,
    ) -> None:
        """Add counts (tokens), operations, nats (those of each target times its weight), weights, and seconds."""
        self.tokens += tokens
        self.selected += selected
        self.corrupted += corrupted
        self.targets += targets
        self.flops += flops
        self.nats += nats
        self.weight += weight
        self.seconds += seconds

    def compute(self) -> dict[str, float]:
        """Totals so far: tokens read, positions selected, corrupted (input changed), kept (selected, but
        not changed), targets; the realised density targets / tokens; flops, seconds, nats and weight."""
        totals = {name: getattr(self, name).item() for name in self._defaults}
        totals["kept"] = totals["selected"] - totals["corrupted"]
        totals["density"] = totals["targets"] / totals["tokens"] if totals["tokens"] else 0.0
        return totals

    def restore(self, totals: dict[str, float]) -> None:
        """Continue from `totals` (as `compute` gave them)."""
        for name in self._defaults:
            setattr(self, name, torch.tensor(totals[name], dtype=torch.float64, device=self.device))
        self._update_count = 1
