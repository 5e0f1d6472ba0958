"""Masked language modelling: selected tokens are corrupted, and predicted from both sides.

B blocks, T positions.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from objectives.base import Objective
from objectives.corruption import Corruption
from objectives.corruption.rate import check_rates, percent
from objectives.training.randomness import Key, uniform
from objectives.traits import Traits
from objectives.view import IGNORE, View
from objectives.vocabulary import Vocabulary


class MLM(Objective):
    """BERT's masked language model (Devlin et al. 2019): the loss is over the selected positions only.

    It defines no joint probability; sentences are scored by the pseudo-log-likelihood instead.

    Args:
        corruption: which positions are selected, and what replaces their tokens.
        prediction_rate: share of the regular tokens that is predicted, whatever share is selected (Wettig et al. 2023,
            section 5): fewer than the selected ones, or others besides, up to 1, all tokens (the All-Tokens MLM of
            ELECTRA, Clark et al. 2020). The selected ones when not given.
        shared: the fields of SharedSettings.
    """

    def __init__(self, corruption: Corruption, prediction_rate: float | None = None, **shared: Any) -> None:
        super().__init__(**shared)
        if prediction_rate is not None:
            check_rates(prediction_rate)
        self.corruption, self.prediction_rate = corruption, prediction_rate

    @property
    def traits(self) -> Traits:
        predicted = "" if self.prediction_rate is None else f", {percent(self.prediction_rate)} predicted"
        return Traits(
            name=type(self).__name__,
            question=f"masked tokens ({self.corruption.name}{predicted})",
            attention="bidirectional",
            scores=("pll", "pll_word_l2r"),
            huggingface="ModernBertForMaskedLM",
            numeric=masking_rates(self.corruption, self.prediction_rate),
            categorical=masking_choices(self.corruption),
        )

    @property
    def switches(self) -> tuple[float, ...]:
        return self.corruption.rates.switches

    def densities(self, spent: float) -> tuple[float, ...]:
        return (self.prediction_rate or self.corruption.rates.mean(spent),)

    def views(self, tokens_BT: Tensor, key: Key) -> tuple[View, ...]:
        return (cloze(tokens_BT, key, self.corruption, self.vocabulary, self.prediction_rate),)


def cloze(
    tokens_BT: Tensor, key: Key, corruption: Corruption, vocabulary: Vocabulary, prediction_rate: float | None = None
) -> View:
    """The view of MLM: corrupted tokens, and the clean ones as targets at the predicted positions."""
    inputs_BT, selected_BT = corruption(tokens_BT, key, vocabulary)
    noise, targeted_BT = corruption.noise(key.spent), selected_BT
    if prediction_rate is not None:
        rate_B1 = corruption.rates.of_blocks(key)
        selected_B1, others_B1 = predicted_shares(rate_B1, prediction_rate)
        draw_BT = uniform(key, "prediction", tokens_BT.shape[1])
        targeted_BT = draw_BT < torch.where(selected_BT, selected_B1, others_B1)
        targeted_BT &= ~vocabulary.is_special(tokens_BT)
        if noise is not None:
            shares = predicted_shares(torch.tensor(noise.rate, dtype=torch.float64), prediction_rate)
            noise = replace(noise, predicted=float(shares[0]), predicted_besides=float(shares[1]))
    targets_BT = tokens_BT.masked_fill(~targeted_BT, IGNORE)
    return View(inputs_BT, targets_BT, "bidirectional", selected_BT, channel=noise)


def at_earlier_positions(view: View, shift: int) -> View:
    """The view with each target `shift` positions before its token, which is where it is predicted; tokens with no
    position there are no targets."""
    return view._replace(targets_BT=F.pad(view.targets_BT[:, shift:], (0, shift), value=IGNORE), shift=shift)


def predicted_shares(rate: Tensor, prediction_rate: float) -> tuple[Tensor, Tensor]:
    """Of the selected tokens, and of the others, the shares to predict so that `prediction_rate` of all are; each of
    the shape of `rate`, float64."""
    besides = (prediction_rate - rate).clamp(min=0) / (1 - rate).clamp(min=torch.finfo(rate.dtype).tiny)
    return (prediction_rate / rate).clamp(max=1), besides


def masking_rates(corruption: Corruption, prediction_rate: float | None = None) -> dict[str, float]:
    """The numeric factors of a corruption, means over the budget where they change."""
    rates = {"mask rate": corruption.rates.over_budget()}
    return rates if prediction_rate is None else {**rates, "prediction rate": prediction_rate}


def masking_choices(corruption: Corruption) -> dict[str, str]:
    """The categorical factors of a corruption."""
    return {
        "corruption mix": corruption.replacement.name,
        "selection": corruption.selection.name,
        "rate schedule": corruption.rates.name,
    }
