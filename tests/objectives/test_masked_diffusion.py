"""Masked diffusion: rates, masks and weights. Its bound is tested where posteriors are known and sentences scored."""

import math

import pytest
import torch
from scipy import stats

from objectives import IGNORE, Key, MaskedDiffusion, Stratified
from objectives.corruption.rate import STRATA
from tests.support.objectives import FALSE_ALARM, VOCABULARY, build, make_batch


def key_of(index, seed=1, epoch=5):
    return Key(seed, torch.full_like(index, epoch), index)


def test_each_block_has_one_rate_and_every_masked_token_is_a_target_that_weighs_one_over_it():
    batch = make_batch(blocks=400, length=64)
    objective = build(MaskedDiffusion)
    key = Key(3, batch.epoch_B, batch.index_B)
    (view,) = objective.views(batch.tokens_BT, key)
    rates_B1 = Stratified(0.05, 1.0).of_blocks(key)
    assert torch.equal(view.weights_BT, (1 / rates_B1).float().expand(400, 64))
    masked = view.inputs_BT == VOCABULARY.mask
    assert torch.equal(masked, view.targets_BT != IGNORE) and torch.equal(masked, view.selected_BT)
    assert torch.equal(view.inputs_BT[~masked], batch.tokens_BT[~masked])
    regular = (~VOCABULARY.is_special(batch.tokens_BT)).sum(1)
    expected, variance = rates_B1[:, 0] * regular, rates_B1[:, 0] * (1 - rates_B1[:, 0]) * regular
    assert abs(float((masked.sum(1) - expected).sum())) < 5 * math.sqrt(variance.sum())
    # All weights are 1 a regular token on average, which is what `reduction: mean` divides by.
    weight = (view.weights_BT * masked).double().sum(1) - regular
    assert abs(float(weight.mean())) < 5 * float(weight.std()) / 20
    assert objective.nominal_weight(0.3) == 1.0 and objective.densities(0.3) == (0.525,)


def test_of_successive_blocks_one_has_its_rate_in_each_part_of_the_range():
    rate = Stratified(0.2, 0.6)
    index = torch.arange(40 * STRATA)
    rates = rate.of_blocks(key_of(index))
    assert rates.shape == (40 * STRATA, 1) and rates.dtype == torch.float64
    assert ((rates > 0.2) & (rates <= 0.6)).all()
    parts = ((0.6 - rates) / 0.4 * STRATA).floor().long().view(40, STRATA)
    assert torch.equal(parts.sort(1).values, torch.arange(STRATA).expand(40, -1))
    assert len(parts.unique(dim=0)) == 40, "the parts are dealt out anew"


@pytest.mark.parametrize("step", [1, 2, 8, 13, STRATA, 1000])
def test_rates_are_uniform_however_far_apart_the_blocks_are(step):
    index = 7 + step * torch.arange(3000)
    rates = Stratified(0.0, 1.0).of_blocks(key_of(index)).flatten()
    assert stats.kstest(rates.numpy(), "uniform").pvalue > FALSE_ALARM
    assert abs(torch.corrcoef(torch.stack([rates[1:], rates[:-1]]))[0, 1]) < 5 / math.sqrt(3000)


def test_rates_depend_on_seed_epoch_and_index_alone():
    index = torch.tensor([5, 2**40, 33, 0])
    rates = Stratified(0.0, 1.0).of_blocks(key_of(index))
    for place in range(4):
        assert torch.equal(rates[place], Stratified(0.0, 1.0).of_blocks(key_of(index[place : place + 1]))[0])
    for other in (key_of(index, seed=2), key_of(index, epoch=6)):
        assert not (Stratified(0.0, 1.0).of_blocks(other) == rates).any()
    assert torch.equal(Stratified(0.0, 1.0).of_blocks(key_of(index)._replace(spent=0.1)), rates)


def test_a_lowest_rate_out_of_range_is_refused():
    for lowest in (-0.1, 1.0):
        with pytest.raises(ValueError, match="low, high"):
            build(MaskedDiffusion, lowest=lowest)
