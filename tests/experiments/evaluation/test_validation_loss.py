"""Loss on the validation blocks."""

import math

import pytest
import torch

from experiments.data import GeneratedData
from experiments.evaluation.validation_loss import NegativeLogLikelihood, ValidationLoss
from experiments.languages.hidden_markov import HiddenMarkov
from objectives import Predictions

FOLD = torch.zeros(1, dtype=torch.int64)


def predictions(nats, correct, special, read):
    """Of one block, with the targets in front."""
    flags = [torch.tensor(values, dtype=torch.bool) for values in (correct, special)]
    return Predictions((torch.arange(read) < len(nats))[None], torch.tensor(nats).double(), *flags)


def test_loss_by_hand():
    metric = NegativeLogLikelihood(characters_per_token=4.0)
    metric.update(FOLD, predictions([1.0, 2.0], [True, True], [False, True], read=5))
    metric.update(FOLD, predictions([4.5], [False], [False], read=5))
    bits = 7.5 / math.log(2) / 8
    assert metric.compute() == pytest.approx(
        {
            "loss": 2.5,
            "loss_standard_error": (2 * ((3 - 2 * 2.5) ** 2 + (4.5 - 2.5) ** 2)) ** 0.5 / 3,
            "accuracy": 2 / 3,
            "accuracy_standard_error": (2 * ((2 - 4 / 3) ** 2 + (0 - 2 / 3) ** 2)) ** 0.5 / 3,
            "bits_per_character": bits,
            "bits_per_character_standard_error": (2 * ((3 - 4.5) / 2 / math.log(2)) ** 2 * 2) ** 0.5 / 8,
            "density": 0.3,
        }
    )


def test_what_stands_for_no_text_has_no_characters():
    metric = NegativeLogLikelihood(characters_per_token=None)
    metric.update(FOLD, predictions([1.0, 2.0], [True, True], [False, True], read=5))
    assert set(metric.compute()) == {"loss", "loss_standard_error", "accuracy", "accuracy_standard_error", "density"}
    data = GeneratedData(HiddenMarkov(states=4, symbols=8, length=14), probe_train=2, probe_test=2)
    evaluated = ValidationLoss()
    evaluated.prepare(data)
    names = {quantity.name for quantity in evaluated.quantities()}
    assert "validation/loss" in names and not any("characters" in name or "bits" in name for name in names)


def test_views_of_one_batch_are_one_set_of_blocks():
    """A block whose views are all hard is one hard block, not several."""
    metric = NegativeLogLikelihood(1.0)
    for nats in ([1.0, 2.0], [4.0, 4.5]):
        one = predictions(nats, [True, False], [False, False], read=3)
        metric.update(FOLD, one, one)
    twice = metric.compute()
    single = NegativeLogLikelihood(1.0)
    for nats in ([1.0, 2.0], [4.0, 4.5]):
        single.update(FOLD, predictions(nats, [True, False], [False, False], read=3))
    for name in ("loss", "loss_standard_error", "accuracy", "bits_per_character_standard_error"):
        assert twice[name] == pytest.approx(single.compute()[name])


def test_targets_with_weights_by_hand():
    """Two views of two blocks: one without weights, one whose targets weigh 0.5 and 4."""
    metric = NegativeLogLikelihood(characters_per_token=2.0)
    blocks = [([1.0], [2.0, 3.0], [0.5, 4.0]), ([2.0], [1.0, 5.0], [4.0, 0.5])]
    for plain, nats, weights in blocks:
        weighted = predictions(nats, [True, False], [False, True], read=5)._replace(weights_N=torch.tensor(weights))
        metric.update(FOLD, predictions(plain, [True], [False], read=5), weighted)
    found = metric.compute()
    sums = [1 + 0.5 * 2 + 4 * 3, 2 + 4 * 1 + 0.5 * 5]
    loss = sum(sums) / 11
    assert found["loss"] == pytest.approx(loss)
    assert found["loss_standard_error"] == pytest.approx((2 * sum((x - 5.5 * loss) ** 2 for x in sums)) ** 0.5 / 11)
    characters = 2.0 * (1 + 0.5 + 1 + 4)
    assert found["bits_per_character"] == pytest.approx(sum(sums) / math.log(2) / characters)
    assert found["accuracy"] == pytest.approx(4 / 6) and found["density"] == pytest.approx(6 / 10)


def test_two_halves_of_the_blocks_add_up_to_the_whole():
    draw = torch.Generator().manual_seed(0)
    parts, whole = [NegativeLogLikelihood(1.5) for _ in range(2)], NegativeLogLikelihood(1.5)
    for place in range(10):
        nats = (torch.rand(1 + place % 4, generator=draw) * 5).tolist()
        one = predictions(nats, [n < 2 for n in nats], [n > 4 for n in nats], read=6)
        parts[place % 2].update(FOLD, one)
        whole.update(FOLD, one)
    parts[0].tokens += parts[1].tokens
    for name, sums in parts[1].sums.items():
        parts[0].sums[name] += sums
    assert parts[0].compute() == pytest.approx(whole.compute(), rel=1e-12)


def test_without_targets_the_loss_is_nan():
    metric = NegativeLogLikelihood(1.0)
    metric.update(FOLD, predictions([], [], [], read=4))
    assert math.isnan(metric.compute()["loss"]) and metric.compute()["density"] == 0
