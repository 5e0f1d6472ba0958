"""Budgets, learning rates and optimiser groups."""

import math

import pytest

from objectives import CLM, MLM, Budget, OptimizerConfig
from objectives.encoder.targets import SPARSE
from objectives.training.flops import training_flops
from tests.support.objectives import VOCABULARY, build


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
    share = objective.nominal_density
    queries = None if share > SPARSE else tokens * share
    spent = training_flops(objective.encoder.config, VOCABULARY.size, 32, tokens, tokens * share, queries)
    per_token = spent / tokens
    assert 1e9 <= spent < 1e9 + per_token


def test_sparse_targets_get_more_tokens_from_the_same_flops():
    tokens = {cls: build(cls, budget=Budget(flops=1e9)).budget_tokens(32) for cls in (CLM, MLM)}
    assert tokens[MLM] > tokens[CLM]


def test_norms_biases_and_embeddings_have_no_weight_decay():
    objective = build(CLM)
    groups = objective.shared.optimizer.build(objective).param_groups
    names = {id(parameter): name for name, parameter in objective.named_parameters()}
    decayed = {names[id(p)] for p in groups[0]["params"]}
    plain = {names[id(p)] for p in groups[1]["params"]}
    assert groups[0]["weight_decay"] == 0.01 and groups[1]["weight_decay"] == 0
    assert decayed | plain == set(names.values()) and not decayed & plain
    assert "encoder.embedding.weight" in plain and "encoder.decoder_bias" in plain
    assert all("norm" not in name for name in decayed)
    assert all("norm" in name or "embedding" in name or "bias" in name for name in plain)
