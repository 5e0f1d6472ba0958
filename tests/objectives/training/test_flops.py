"""The cost by formula, against what torch counts and what the ledger sums."""

import math

import pytest
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from objectives import CLM, Budget, Encoder, EncoderConfig
from objectives.training.flops import body_flops, head_flops
from tests.support.objectives import VOCABULARY, all_objectives, build, make_batch


@pytest.mark.parametrize("attention", ["causal", "bidirectional"])
def test_flops_are_what_torch_counts(attention):
    model = Encoder(EncoderConfig(width=16, depth=3, heads=2, max_length=40), 30, seed=0)
    tokens = torch.randint(0, 30, (2, 12))
    # The plain kernel, because torch has no count for the fused one on every device.
    with sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counter:
        hidden = model(tokens, attention)
        logits = model.decode(model.head(hidden[:, :5]))
        forward = counter.get_total_flops()
        logits.sum().backward()
    expected = 24 * body_flops(model.config, 12) + 10 * head_flops(model.config, 30)
    assert forward == expected
    assert counter.get_total_flops() == 3 * expected


def test_ledger_flops_follow_the_formula():
    objective = build(CLM)
    batch = make_batch(blocks=4, length=32)
    objective.training_step(batch, 0)
    totals = objective.ledger.compute()
    body, head = (
        body_flops(objective.encoder.config, 32),
        head_flops(objective.encoder.config, VOCABULARY.size),
    )
    assert totals["flops"] == 3 * (totals["tokens"] * body + totals["targets"] * head)


@pytest.mark.parametrize("cls", all_objectives())
def test_ledger_flops_are_what_torch_counts_in_a_training_step(cls):
    """However many views there are: each costs a body and a head, while tokens are counted once."""
    objective, batch = build(cls), make_batch(blocks=4, length=32)
    with sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counter:
        objective.training_step(batch, 0).backward()
    totals = objective.ledger.compute()
    assert totals["flops"] == counter.get_total_flops()
    assert totals["tokens"] == batch.tokens_BT.numel()


@pytest.mark.parametrize("cls", all_objectives())
def test_a_budget_in_flops_counts_every_view(cls):
    objective = build(cls, budget=Budget(flops=1e9))
    body, head = body_flops(objective.encoder.config, 32), head_flops(objective.encoder.config, VOCABULARY.size)
    per_token = 3 * (objective.view_count * body + objective.nominal_density * head)
    assert objective.budget_tokens(32) == math.ceil(1e9 / per_token)
