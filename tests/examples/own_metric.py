"""A shared metric: how much alike the hidden states of different tokens are.

B blocks, T positions, D width, N tokens.
"""

from __future__ import annotations

import torch

from experiments.evaluation.metric import SharedMetric
from experiments.records.quantities import Quantity
from objectives import Objective
from objectives.inference.language_model import inference_mode


class Anisotropy(SharedMetric):
    """Mean cosine between hidden states of different tokens (Ethayarajh 2019): 0 where they point anywhere, 1 where
    all point one way.

    Args:
        tokens: hidden states that are compared, from the first validation blocks.
    """

    def __init__(self, tokens: int = 200) -> None:
        if tokens < 2:
            raise ValueError(f"it takes at least 2 tokens to compare, but tokens is {tokens}")
        self.tokens = tokens

    def quantities(self) -> list[Quantity]:
        return [
            Quantity(
                "anisotropy/cosine",
                "anisotropy",
                "mean cosine",
                better="lower",
                comparable="all",
                description="Mean cosine between the hidden states of different tokens (Ethayarajh 2019).",
            )
        ]

    def measure(self, objective: Objective) -> dict[str, float]:
        states: list[torch.Tensor] = []
        with inference_mode(objective):
            for batch in self.data.validation_batches():
                states.append(objective.read(batch.tokens_BT.to(objective.device)).flatten(0, 1).double())
                if sum(map(len, states)) >= self.tokens:
                    break
        units_ND = torch.nn.functional.normalize(torch.cat(states)[: self.tokens], dim=1)
        n = len(units_ND)
        return {"anisotropy/cosine": ((units_ND.sum(0).square().sum() - n) / (n * (n - 1))).item()}
