"""Blocks of two kinds: each is that of its objective, and their share is the one that is asked for."""

from itertools import pairwise

import pytest
import torch
from scipy import stats

from objectives import CLM, IGNORE, Corruption, Drawn, Hybrid, Key, MaskedNextToken, Scheduled
from tests.support.objectives import FALSE_ALARM, build, make_batch

CORRUPTION = Corruption(0.4, 0.6, 0.2, 0.2)


def view_of(objective, batch, spent=1.0):
    (view,) = objective.views(batch.tokens_BT, Key(3, batch.epoch_B, batch.index_B, spent))
    return view


def causal_blocks(view):
    return ~view.attention[:, 0, 0, -1]


@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_each_block_is_that_of_its_objective(share):
    batch = make_batch(blocks=60)
    mixed = view_of(build(Hybrid, corruption=CORRUPTION, causal=share), batch)
    clean = view_of(build(CLM), batch)
    masked = view_of(build(MaskedNextToken, corruption=CORRUPTION), batch)
    everything = torch.ones(mixed.attention.shape[2:], dtype=torch.bool)
    kinds = causal_blocks(mixed)
    assert bool(kinds.any()) == (share > 0) and bool(kinds.all()) == (share == 1)
    for block, is_causal in enumerate(kinds.tolist()):
        expected = clean if is_causal else masked
        assert torch.equal(mixed.inputs_BT[block], expected.inputs_BT[block])
        assert torch.equal(mixed.targets_BT[block], expected.targets_BT[block])
        assert torch.equal(mixed.attention[block, 0], everything.tril() if is_causal else everything)
        nothing = torch.zeros_like(masked.selected_BT[block])
        assert torch.equal(mixed.selected_BT[block], nothing if is_causal else masked.selected_BT[block])
    assert mixed.shift == 1 and mixed.channel.noise == masked.channel


@pytest.mark.parametrize("share", [0.01, 0.15, 0.5, 0.99, Scheduled(1.0, 0.0), Scheduled(0.2, 0.6, "step")])
@pytest.mark.parametrize("spent", [0.0, 0.3, 1.0])
def test_the_realised_share_is_binomial(share, spent):
    batch = make_batch(blocks=4000, length=8)
    count = int(causal_blocks(view_of(build(Hybrid, causal=share), batch, spent)).sum())
    probability = share if isinstance(share, float) else share.mean(spent)
    low, high = stats.binom.ppf([FALSE_ALARM / 2, 1 - FALSE_ALARM / 2], 4000, probability)
    assert low <= count <= high


def test_as_the_share_falls_causal_blocks_become_masked_ones_and_none_the_other_way():
    batch, objective = make_batch(blocks=200), build(Hybrid, causal=Scheduled(1.0, 0.0))
    kinds = [causal_blocks(view_of(objective, batch, spent)) for spent in (0.0, 0.25, 0.5, 0.75, 1.0)]
    for earlier, later in pairwise(kinds):
        assert not (later & ~earlier).any() and earlier.sum() > later.sum()
    assert kinds[0].all() and not kinds[-1].any()


def test_kinds_are_drawn_anew_in_each_epoch():
    batch, objective = make_batch(blocks=400), build(Hybrid)
    first, second = (
        causal_blocks(view_of(objective, batch._replace(epoch_B=torch.full_like(batch.epoch_B, epoch))))
        for epoch in (0, 1)
    )
    low, high = stats.binom.ppf([FALSE_ALARM / 2, 1 - FALSE_ALARM / 2], 400, 0.5)
    assert low <= int((first == second).sum()) <= high


@pytest.mark.parametrize("share", [0.0, 0.3, 1.0, Scheduled(1.0, 0.0)])
@pytest.mark.parametrize("spent", [0.0, 0.5, 1.0])
def test_densities_are_realised(share, spent):
    batch = make_batch(blocks=2000, length=64)
    objective = build(Hybrid, corruption=Corruption(0.3), causal=share)
    realised = (view_of(objective, batch, spent).targets_BT != IGNORE).double().mean(1)
    (nominal,) = objective.densities(spent)
    # A causal block has two positions without a target, in a masked one five of 64 tokens have none or are special.
    assert abs(float(realised.mean()) - nominal) < 5 * float(realised.std()) / 2000**0.5 + 0.04
    assert build(Hybrid, corruption=Corruption(0.3), causal=Scheduled(1.0, 0.0)).nominal_density == pytest.approx(0.65)


@pytest.mark.parametrize(
    ("share", "attention", "scores", "mean", "schedule"),
    [
        (0.5, "bidirectional", ("chain_rule", "pll", "pll_word_l2r"), 0.5, "50 %"),
        (Scheduled(0.0, 1.0), "bidirectional", ("chain_rule", "pll", "pll_word_l2r"), 0.5, "0 → 100 %, linear"),
        (Scheduled(1.0, 0.0), "bidirectional", ("pll", "pll_word_l2r", "chain_rule"), 0.5, "100 → 0 %, linear"),
        (0.0, "bidirectional", ("pll", "pll_word_l2r"), 0.0, "0 %"),
        (1.0, "causal", ("chain_rule",), 1.0, "100 %"),
    ],
)
def test_it_offers_the_scores_that_it_is_trained_for(share, attention, scores, mean, schedule):
    traits = build(Hybrid, causal=share).traits
    assert (traits.attention, traits.scores, traits.mask_shift) == (attention, scores, 1)
    assert traits.numeric == {"share of CLM": pytest.approx(mean), "mask rate": 0.15}
    assert traits.categorical["CLM schedule"] == schedule


@pytest.mark.parametrize("share", [-0.1, 1.1, Drawn(0.0, 1.0)])
def test_a_share_that_is_none_is_refused(share):
    with pytest.raises(ValueError, match="share of causal blocks"):
        build(Hybrid, causal=share)
