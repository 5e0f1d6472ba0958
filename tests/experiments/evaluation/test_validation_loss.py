"""Loss on the validation blocks."""

import math

import pytest
import torch

from experiments.evaluation.validation_loss import NegativeLogLikelihood
from objectives import Predictions


def predictions(nats, correct, special, read):
    flags = [torch.tensor(values, dtype=torch.bool) for values in (correct, special)]
    return Predictions(torch.zeros(1, read, dtype=torch.bool), torch.tensor(nats).double(), *flags)


def test_loss_by_hand():
    metric = NegativeLogLikelihood(characters_per_token=4.0)
    metric.update(predictions([1.0, 2.0], [True, True], [False, True], read=5))
    metric.update(predictions([4.5], [False], [False], read=5))
    assert metric.compute() == pytest.approx(
        {"loss": 2.5, "accuracy": 2 / 3, "bits_per_character": 7.5 / math.log(2) / 8, "density": 0.3}
    )


def test_without_targets_the_loss_is_nan():
    metric = NegativeLogLikelihood(1.0)
    metric.update(predictions([], [], [], read=4))
    assert math.isnan(metric.compute()["loss"]) and metric.compute()["density"] == 0
