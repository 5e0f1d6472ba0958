"""What was read, what was predicted and what it cost: counted, and kept as float64 sums.

B blocks, T positions.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import torch
from torch import Tensor
from torchmetrics import Metric

if TYPE_CHECKING:
    from objectives.view import Predictions


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
    seconds: Tensor

    def __init__(self) -> None:
        super().__init__()
        for name in ("tokens", "selected", "corrupted", "targets", "flops", "nats"):
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
        seconds: float = 0,
    ) -> None:
        """Add counts (tokens), operations, nats and seconds."""
        self.tokens += tokens
        self.selected += selected
        self.corrupted += corrupted
        self.targets += targets
        self.flops += flops
        self.nats += nats
        self.seconds += seconds

    def compute(self) -> dict[str, float]:
        """Totals so far: tokens read, positions selected, corrupted (input changed), kept (selected, but
        not changed), targets; the realised density targets / tokens; flops, seconds and nats."""
        totals = {name: getattr(self, name).item() for name in self._defaults}
        totals["kept"] = totals["selected"] - totals["corrupted"]
        totals["density"] = totals["targets"] / totals["tokens"] if totals["tokens"] else 0.0
        return totals

    def restore(self, totals: dict[str, float]) -> None:
        """Continue from `totals` (as `compute` gave them)."""
        for name in self._defaults:
            setattr(self, name, torch.tensor(totals[name], dtype=torch.float64, device=self.device))
        self._update_count = 1


class NegativeLogLikelihood(Metric):
    """Loss at asked positions: nats per target, accuracy, bits per character of the original text.

    Perplexity is exp(nats); it is left to the model, because of its overflow. Bits per character divides by the
    characters behind the asked regular tokens (end tokens cost nats but stand for no character); for CLM over whole
    documents it is a code length, for MLM it is the cost of the asked part of the text only.
    """

    full_state_update = False
    higher_is_better = False
    nats: Tensor
    targets: Tensor
    regular: Tensor
    correct: Tensor
    tokens: Tensor

    def __init__(self, characters_per_token: float) -> None:
        super().__init__()
        self.characters_per_token = characters_per_token
        for name in ("nats", "targets", "regular", "correct", "tokens"):
            self.add_state(name, torch.zeros((), dtype=torch.float64), dist_reduce_fx="sum")

    def update(self, predictions: Predictions) -> None:
        """Add the predictions to one view of a batch."""
        self.nats += predictions.nats_N.sum()
        self.targets += predictions.nats_N.numel()
        self.regular += (~predictions.special_N).sum()
        self.correct += predictions.correct_N.sum()
        self.tokens += predictions.targeted_BT.numel()

    def compute(self) -> dict[str, float]:
        """nats, accuracy, bits_per_character and density; nan where nothing was asked."""
        nats, targets, regular, correct, tokens = (
            getattr(self, name).item() for name in ("nats", "targets", "regular", "correct", "tokens")
        )
        characters = regular * self.characters_per_token
        return {
            "loss": nats / targets if targets else math.nan,
            "accuracy": correct / targets if targets else math.nan,
            "bits_per_character": nats / math.log(2) / characters if characters else math.nan,
            "density": targets / tokens if tokens else math.nan,
        }
