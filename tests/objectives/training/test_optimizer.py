"""Budgets, learning rates, optimiser groups, vocabulary and metrics."""

import math

import pytest
import torch

from objectives import CLM, IGNORE, MLM, Budget, OptimizerConfig, Vocabulary, evaluation_key
from objectives.training.flops import training_flops
from objectives.training.ledger import Ledger
from tests.support.objectives import VOCABULARY, build, make_batch


def test_learning_rate_rises_then_falls():
    config = OptimizerConfig(learning_rate=1.0, warmup_tokens=100, decay="linear", final_fraction=0.1)
    rates = [config.rate(tokens, 1100) for tokens in (10, 50, 100, 600, 1100, 2000)]
    assert rates == pytest.approx([0.1, 0.5, 1.0, 0.55, 0.1, 0.1])


def test_cosine_and_constant():
    cosine = OptimizerConfig(learning_rate=1.0, warmup_tokens=0, decay="cosine", final_fraction=0.0)
    assert [cosine.rate(t, 100) for t in (0, 25, 50, 100)] == pytest.approx(
        [1.0, (1 + math.cos(math.pi / 4)) / 2, 0.5, 0.0]
    )
    constant = OptimizerConfig(learning_rate=1.0, decay="constant")
    assert constant.rate(5, 100) == constant.rate(99, 100) == 1.0


@pytest.mark.parametrize(
    "change", [{"decay": "step"}, {"learning_rate": 0}, {"final_fraction": 2}, {"gradient_clip": -1}]
)
def test_bad_schedules_are_refused(change):
    with pytest.raises(ValueError):
        OptimizerConfig(**change)


@pytest.mark.parametrize("budget", [{}, {"tokens": 1, "flops": 1.0}, {"tokens": 0}, {"flops": -1.0}])
def test_bad_budgets_are_refused(budget):
    with pytest.raises(ValueError, match="one of the two"):
        Budget(**budget)


@pytest.mark.parametrize("cls", [CLM, MLM])
def test_a_flops_budget_is_spent_by_its_tokens(cls):
    objective = build(cls, budget=Budget(flops=1e9))
    tokens = objective.budget_tokens(32)
    spent = training_flops(objective.encoder.config, VOCABULARY.size, 32, tokens, tokens * objective.nominal_density)
    per_token = spent / tokens
    assert 1e9 <= spent < 1e9 + per_token


def test_sparse_targets_get_more_tokens_from_the_same_flops():
    tokens = {cls: build(cls, budget=Budget(flops=1e9)).budget_tokens(32) for cls in (CLM, MLM)}
    assert tokens[MLM] > tokens[CLM]


def test_norms_biases_and_embeddings_have_no_weight_decay():
    objective = build(CLM)
    groups = objective.configure_optimizers().param_groups
    names = {id(parameter): name for name, parameter in objective.named_parameters()}
    decayed = {names[id(p)] for p in groups[0]["params"]}
    plain = {names[id(p)] for p in groups[1]["params"]}
    assert groups[0]["weight_decay"] == 0.01 and groups[1]["weight_decay"] == 0
    assert decayed | plain == set(names.values()) and not decayed & plain
    assert "encoder.embedding.weight" in plain and "encoder.decoder_bias" in plain
    assert all("norm" not in name for name in decayed)
    assert all("norm" in name or "embedding" in name or "bias" in name for name in plain)


def test_nth_regular_skips_every_special():
    ids = VOCABULARY.nth_regular(torch.arange(VOCABULARY.regular)).tolist()
    assert ids == [i for i in range(VOCABULARY.size) if i not in VOCABULARY.specials]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"size": 5}, "no room"),
        ({"pad": 3}, "distinct"),
        ({"specials": (0, 1, 2, 3)}, "every special id"),
        ({"specials": (0, 1, 2, 3, 4, 99), "size": 50}, "do not fit"),
    ],
)
def test_impossible_vocabularies_are_refused(change, words):
    values = {"size": 40, "pad": 0, "unknown": 1, "cls": 2, "sep": 3, "mask": 4, "specials": (0, 1, 2, 3, 4)}
    with pytest.raises(ValueError, match=words):
        Vocabulary(**{**values, **change})


def test_ledger_does_not_stall_at_two_to_the_24():
    ledger = Ledger()
    ledger.update(tokens=2**24)
    for _ in range(3):
        ledger.update(tokens=1, supervised=torch.tensor(1))
    assert ledger.compute()["tokens"] == 2**24 + 3
    again = Ledger()
    again.restore(ledger.compute())
    assert again.compute() == ledger.compute()


def test_answers_are_log_probabilities_and_hits():
    objective = build(CLM)
    batch = make_batch(blocks=2)
    (view,) = objective.views(batch.tokens_BT, evaluation_key(batch.index_B))
    with torch.no_grad():
        given = objective.predict(view, batch.tokens_BT)
        logits = objective.encoder.decode(objective.encoder.head(objective.encode(view, batch.tokens_BT)))
    asked = view.targets_BT != IGNORE
    assert torch.equal(given.targeted_BT, asked)
    expected = torch.nn.functional.cross_entropy(logits[asked], view.targets_BT[asked], reduction="none")
    torch.testing.assert_close(given.nats_N, expected.double(), rtol=1e-5, atol=1e-5)
    assert torch.equal(given.correct_N, logits[asked].argmax(-1) == view.targets_BT[asked])
    assert given.special_N.sum() == 4  # in each block an unknown token, and the end of the first document


def test_answers_are_finite_where_softmax_underflows():
    objective = build(CLM)
    with torch.no_grad():
        objective.encoder.decoder_bias[5] = 500.0
    batch = make_batch(blocks=1)
    (view,) = objective.views(batch.tokens_BT, evaluation_key(batch.index_B))
    with torch.no_grad():
        nats = objective.predict(view, batch.tokens_BT).nats_N
    assert nats.isfinite().all() and nats.max() > 300
