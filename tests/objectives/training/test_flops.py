"""The cost by formula, against what torch counts and what the ledger sums."""

import math
from itertools import pairwise

import pytest
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from objectives import CLM, MLM, Budget, Corruption, Encoder, EncoderConfig
from objectives.encoder.targets import SPARSE, TargetPositions
from objectives.training.flops import forward_flops, training_flops
from tests.support.objectives import VOCABULARY, all_objectives, attached, build, make_batch


@pytest.mark.parametrize("attention", ["causal", "bidirectional"])
@pytest.mark.parametrize("most", [1, 5, 8, 10, 12])
@pytest.mark.parametrize("depth", [1, 3])
def test_flops_are_what_torch_counts(attention, most, depth):
    """Of rows with few targets the last layer computes those alone; 10 of 12 are not few."""
    model = Encoder(EncoderConfig(width=16, depth=depth, heads=2, max_length=40), 30, seed=0)
    tokens = torch.randint(0, 30, (2, 12))
    targeted = torch.zeros(2, 12, dtype=torch.bool)
    targeted[0, :most], targeted[1, -1] = True, True
    targets = TargetPositions.of(targeted)
    assert targets.queries == (None if most > 9 else 2 * most)
    # The plain kernel, because torch has no count for the fused one on every device.
    with sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counter:
        logits = model.decode(model.head(model(tokens, attention, targets=targets)))
        forward = counter.get_total_flops()
        logits.sum().backward()
    expected = forward_flops(model.config, 30, 12, 24, most + 1, targets.queries)
    assert forward == expected
    assert counter.get_total_flops() == 3 * expected


def test_ledger_flops_follow_the_formula():
    objective = build(CLM)
    batch = make_batch(blocks=4, length=32)
    module = attached(objective)
    module.training_step(batch, 0)
    totals = module.ledger.compute()
    config = objective.encoder.config
    assert totals["flops"] == training_flops(
        config, VOCABULARY.size, 32, totals["tokens"], totals["targets"], queries=None
    )


def test_ledger_flops_are_what_torch_counts_in_a_training_step(make):
    """However many views there are: each costs a body and a head, while tokens are counted once."""
    module, batch = attached(make()), make_batch(blocks=4, length=32)
    with sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counter:
        module.training_step(batch, 0).backward()
    totals = module.ledger.compute()
    assert totals["flops"] == counter.get_total_flops()
    assert totals["tokens"] == batch.tokens_BT.numel()


@pytest.mark.parametrize("cls", all_objectives())
def test_a_budget_in_flops_counts_every_view(cls):
    objective = build(cls, budget=Budget(flops=1e9))
    per_token = sum(
        training_flops(objective.encoder.config, VOCABULARY.size, 32, 1, share, share if share <= SPARSE else None)
        for share in objective.densities(0.0)
    )
    assert objective.budget_tokens(32) == math.ceil(1e9 / per_token)


def test_what_is_computed_costs_what_it_does():
    """Less with fewer targets, up to where all positions are computed."""
    rates = (0.15, 0.3, 0.5, SPARSE, SPARSE + 1e-6)
    costs = [build(MLM, corruption=Corruption(rate=rate)).flops_per_token(128) for rate in rates]
    assert all(one < two for one, two in pairwise(costs))
    assert costs[-1] > 1.1 * costs[-2], "where all positions are computed"
