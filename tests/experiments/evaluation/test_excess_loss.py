"""Excess loss: by hand, and of models that are made by enumeration of everything that can happen."""

import math
from collections import defaultdict

import pytest
import torch

from experiments.evaluation.excess_loss import ExcessLoss
from experiments.evaluation.standard_errors import folds
from experiments.evaluation.validation_loss import validation_loss
from experiments.languages.hidden_markov import FIRST_SYMBOL, HiddenMarkov
from objectives import CLM, IGNORE, MLM, Corruption, Hybrid, MaskedNextToken, Predictions
from tests.support.known_rules import enumerate_targets, make_data, text_probabilities
from tests.support.objectives import build

LANGUAGE = HiddenMarkov(2, 3, transition_concentration=0.7, emission_concentration=0.7, length=4, seed=1)
CORRUPTION = Corruption(0.5)
SEP, MASK = 3, 4
FOLDS_B = folds(torch.arange(50))


def of_nats(targeted, nats):
    flags = torch.zeros(len(nats), dtype=torch.bool)
    return Predictions(targeted, nats, flags, flags)


def test_excess_by_hand():
    excess = ExcessLoss()
    targeted = torch.tensor([[True, True, False], [False, True, False]])
    bayes = torch.tensor([[1.0, 2.0, 0.0], [0.0, 3.0, 0.0]], dtype=torch.float64)
    excess.update(FOLDS_B[:2], (of_nats(targeted, torch.tensor([1.5, 2.5, 3.2], dtype=torch.float64)), bayes))
    mean = 1.2 / 3
    error = (2 / 1 * ((1.0 - 2 * mean) ** 2 + (0.2 - mean) ** 2)) ** 0.5 / 3
    expected = {
        "bayes_loss": 2.0,
        "bayes_loss_standard_error": (2 / 1 * ((3.0 - 2 * 2) ** 2 + (3.0 - 2) ** 2)) ** 0.5 / 3,
        "excess_loss": mean,
        "excess_loss_standard_error": error,
    }
    assert excess.compute() == pytest.approx(expected)


def test_excess_of_targets_with_weights_by_hand():
    excess = ExcessLoss()
    targeted = torch.tensor([[True, True, False], [False, True, False]])
    bayes = torch.tensor([[1.0, 2.0, 0.0], [0.0, 3.0, 0.0]], dtype=torch.float64)
    of = of_nats(targeted, torch.tensor([1.5, 2.5, 3.2], dtype=torch.float64))
    weighted = of._replace(weights_N=torch.tensor([2.0, 1.0, 5.0]))
    excess.update(FOLDS_B[:2], (weighted, bayes), (of, bayes))
    parts, weights = [2 * 0.5 + 0.5 + 1.0, 5 * 0.2 + 0.2], [3 + 2, 5 + 1]
    mean, found = sum(parts) / 11, excess.compute()
    assert found["excess_loss"] == pytest.approx(mean)
    squares = sum((x - n * mean) ** 2 for x, n in zip(parts, weights, strict=True))
    assert found["excess_loss_standard_error"] == pytest.approx((2 * squares) ** 0.5 / 11)
    assert found["bayes_loss"] == pytest.approx((2 * 1 + 2 + 5 * 3 + 1 + 2 + 3) / 11)


def test_of_one_block_the_standard_error_is_not_known_and_luck_is_no_error():
    excess = ExcessLoss()
    lucky = of_nats(torch.ones(1, 4, dtype=torch.bool), torch.full((4,), 1.9, dtype=torch.float64))
    excess.update(FOLDS_B[:1], (lucky, torch.full((1, 4), 2.0, dtype=torch.float64)))
    found = excess.compute()
    assert found["excess_loss"] == pytest.approx(-0.1) and math.isnan(found["excess_loss_standard_error"])


def test_a_loss_far_below_the_bayes_loss_is_an_error():
    excess = ExcessLoss()
    bayes = torch.full((50, 4), 2.0, dtype=torch.float64)
    nats = 1.9 + 0.01 * torch.rand(200, dtype=torch.float64)
    excess.update(FOLDS_B, (of_nats(torch.ones(50, 4, dtype=torch.bool), nats), bayes))
    with pytest.raises(ArithmeticError, match="below the Bayes loss"):
        excess.compute()


CAUSAL_SHARES = {CLM: 1.0, MLM: 0.0, MaskedNextToken: 0.0, Hybrid: 0.5}
"""Of blocks that are read from left to right."""


def enumerated(cls):
    """What a model has seen -> p(seen, token at the target), without the recursions that give the Bayes loss."""
    mass, share = defaultdict(lambda: defaultdict(float)), CAUSAL_SHARES[cls]
    for symbols, p in text_probabilities(LANGUAGE).items():
        tokens = [*(FIRST_SYMBOL + symbol for symbol in symbols), SEP]
        for t, target in enumerate(tokens):
            mass[tuple(tokens[:t])][target] += share * p
    for (shown, i, true), p in enumerate_targets(LANGUAGE, CORRUPTION.noise(1.0)).items():
        mass[tuple(MASK if s is None else FIRST_SYMBOL + s for s in shown), i][FIRST_SYMBOL + true] += (1 - share) * p
    return {seen: dict(targets) for seen, targets in mass.items() if sum(targets.values())}


def blurred(share, target, blur):
    """The probability of a target, mixed with that of a blind guess among the symbols; the end stays certain."""
    return share if target == SEP else (1 - blur) * share + blur / LANGUAGE.symbols


def model(cls, mass, blur):
    """An objective whose predictions are the enumerated posteriors, blurred."""
    changes = {} if CAUSAL_SHARES[cls] == 1 else {"corruption": CORRUPTION}
    objective = build(cls, vocabulary=LANGUAGE.vocabulary(), **changes)

    def predict(view, tokens):
        targeted, nats = view.targets_BT != IGNORE, []
        for row, place in targeted.nonzero().tolist():
            inputs, target = view.inputs_BT[row].tolist(), int(view.targets_BT[row, place])
            masks = isinstance(view.attention, torch.Tensor)
            past = not view.attention[row, 0, 0, -1] if masks else view.attention == "causal"
            seen = mass[tuple(inputs[1 : place + 1]) if past else (tuple(inputs[1:-1]), place - 1 + view.shift)]
            nats.append(-math.log(blurred(seen[target] / sum(seen.values()), target, blur)))
        return of_nats(targeted, torch.tensor(nats, dtype=torch.float64))

    objective.predict = predict
    return objective


@pytest.mark.parametrize("cls", CAUSAL_SHARES)
def test_the_exact_posterior_has_no_excess_and_a_worse_model_its_divergence(cls):
    mass, data = enumerated(cls), make_data(LANGUAGE, validation_blocks=2000, batch_size=500)
    best = validation_loss(model(cls, mass, blur=0.0), data)
    assert best["bayes_loss"] > 0.1
    assert best["excess_loss"] == pytest.approx(0, abs=1e-9)
    assert best["loss"] == pytest.approx(best["bayes_loss"], abs=1e-9)
    worse = validation_loss(model(cls, mass, blur=0.5), data)
    nats = targets = 0.0
    for seen in mass.values():
        total = sum(seen.values())
        targets += total
        nats += sum(p * math.log(p / total / blurred(p / total, target, 0.5)) for target, p in seen.items() if p)
    assert worse["bayes_loss"] == best["bayes_loss"]
    assert worse["excess_loss"] > 10 * worse["excess_loss_standard_error"] > 0
    assert abs(worse["excess_loss"] - nats / targets) < 4 * worse["excess_loss_standard_error"]


def test_with_a_view_whose_bayes_loss_is_unknown_there_is_no_excess():
    data = make_data()
    objective = build(CLM, vocabulary=data.vocabulary)

    def views(tokens, key):
        (view,) = objective.views(tokens, key)
        return view, view._replace(channel=None)

    assert "excess_loss" in validation_loss(objective, data)
    assert "excess_loss" not in validation_loss(objective, data, views)
