"""The settings that all objectives share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from objectives.encoder.config import EncoderConfig
from objectives.training.optimizer import Budget, OptimizerConfig
from objectives.vocabulary import Vocabulary

NOT_SAVED = ("start",)
"""Settings that say where something lies: an objective that has been made does without."""


@dataclass(frozen=True)
class SharedSettings:
    """What two runs of different objectives have in common.

    Raises:
        ValueError: when reduction or documents has another value than those below.
    """

    encoder: EncoderConfig
    """Geometry of the encoder."""
    vocabulary: Vocabulary
    """Sizes and special ids, from the tokenizer of the data."""
    budget: Budget
    """How long to train."""
    optimizer: OptimizerConfig
    """AdamW and its schedule."""
    reduction: Literal["mean", "sum"] = "mean"
    """mean divides the summed loss of an optimiser step by its nominal number of targets; sum does not."""
    documents: Literal["separate", "joined"] = "separate"
    """separate lets each token see its own document only and restarts positions there; joined lets attention cross
    documents inside a block."""
    compile: bool = False
    """Train with the encoder compiled by torch.compile, which takes up to a minute at the start and a C++ compiler.
    Masks and order stay the same, sums are taken in another order; measuring never compiles."""
    start: str | None = None
    """Directory of a finished run, whose last weights the encoder starts training with, or a file of its snapshots/."""
    seed: int = 0
    """Seed of the initial weights and of every draw of the objective."""

    def __post_init__(self) -> None:
        if self.reduction not in ("mean", "sum") or self.documents not in ("separate", "joined"):
            raise ValueError(
                f"reduction is mean or sum, documents separate or joined: {self.reduction!r}, {self.documents!r}"
            )
