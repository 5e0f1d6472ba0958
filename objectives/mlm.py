"""Masked language modelling: selected tokens are corrupted, and predicted from both sides.

B blocks, T positions.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from torch import Tensor

from objectives.base import Objective
from objectives.corruption import Corruption
from objectives.encoder.config import EncoderConfig
from objectives.training.optimizer import Budget, OptimizerConfig
from objectives.training.randomness import Key
from objectives.view import IGNORE, View
from objectives.vocabulary import Vocabulary


class MLM(Objective):
    """BERT's masked language model (Devlin et al. 2019): the loss is over the selected positions only.

    It defines no joint probability; sentences are scored by the pseudo-log-likelihood instead.

    Args:
        corruption: which positions are selected, and what replaces their tokens.
    """

    feature_attention = "bidirectional"
    sentence_scores = ("pll", "pll_word_l2r")
    huggingface_class = "ModernBertForMaskedLM"

    def __init__(
        self,
        encoder: EncoderConfig,
        vocabulary: Vocabulary,
        budget: Budget,
        optimizer: OptimizerConfig,
        corruption: Corruption,
        reduction: Literal["mean", "sum"] = "mean",
        documents: Literal["separate", "joined"] = "separate",
        seed: int = 0,
    ) -> None:
        super().__init__(encoder, vocabulary, budget, optimizer, reduction, documents, seed)
        self.corruption = corruption

    @classmethod
    def traits(cls, settings: Mapping[str, Any]) -> dict[str, Any]:
        corruption: Corruption = settings["corruption"]
        mix = [corruption.mask, corruption.random, corruption.keep]
        return {**super().traits(settings), "mask_rate": corruption.rate, "corruption_mix": mix}

    @property
    def nominal_density(self) -> float:
        return self.corruption.rate

    def views(self, tokens_BT: Tensor, key: Key) -> tuple[View, ...]:
        return (cloze(tokens_BT, key, self.corruption, self.vocabulary),)


def cloze(tokens_BT: Tensor, key: Key, corruption: Corruption, vocabulary: Vocabulary) -> View:
    """The view of MLM: corrupted tokens, and the clean ones as targets at the selected positions."""
    inputs_BT, selected_BT = corruption(tokens_BT, key, vocabulary)
    return View(
        inputs_BT, tokens_BT.masked_fill(~selected_BT, IGNORE), "bidirectional", selected_BT, channel=corruption
    )
