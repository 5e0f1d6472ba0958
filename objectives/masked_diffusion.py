"""Masked diffusion: tokens are masked at all rates, and the weighted loss bounds the log-likelihood.

B blocks, T positions.
"""

from __future__ import annotations

from typing import Any

from torch import Tensor

from objectives.base import Objective
from objectives.corruption import Corruption
from objectives.corruption.rate import Stratified, percent
from objectives.mlm import cloze, masking_choices, masking_rates
from objectives.training.randomness import Key
from objectives.traits import Traits
from objectives.view import View


class MaskedDiffusion(Objective):
    """Absorbing-state diffusion (MDLM, Sahoo et al. 2024; Shi et al. 2024; Ou et al. 2024).

    Each block has a rate, uniform over (lowest, 1]; each regular token becomes [MASK] with that probability, and the
    masked ones are predicted from both sides, each with the weight 1 / rate. With `lowest` 0 the expected weighted sum
    of nats of a block is its negative evidence lower bound: at least −log p(regular tokens | special tokens, and where
    they stand) under the model that fills masks one by one in uniformly random order.

    Args:
        lowest: the rates begin above it, and weights are at most 1 / lowest; with 0 their second moment is infinite.
            What it leaves out is a share `lowest` of the integral over rates, in the loss alone: elbo does not depend
            on it. MDLM has 0.001.
        shared: the fields of SharedSettings.
    """

    def __init__(self, lowest: float = 0.05, **shared: Any) -> None:
        super().__init__(**shared)
        self.lowest = lowest
        self.corruption = Corruption(Stratified(lowest, 1.0), mask=1, random=0, keep=0)

    @property
    def traits(self) -> Traits:
        return Traits(
            name=type(self).__name__,
            question=f"masked tokens at all rates above {percent(self.lowest)}, as a bound on the log-likelihood",
            attention="bidirectional",
            scores=("elbo", "pll", "pll_word_l2r"),
            huggingface="ModernBertForMaskedLM",
            numeric=masking_rates(self.corruption),
            categorical=masking_choices(self.corruption),
        )

    def densities(self, spent: float) -> tuple[float, ...]:
        return (self.corruption.rates.mean(spent),)

    def nominal_weight(self, spent: float) -> float:
        return 1.0

    def views(self, tokens_BT: Tensor, key: Key) -> tuple[View, ...]:
        weights_B1 = 1 / self.corruption.rates.of_blocks(key)
        view = cloze(tokens_BT, key, self.corruption, self.vocabulary)
        return (view._replace(weights_BT=weights_B1.float().expand(tokens_BT.shape)),)
