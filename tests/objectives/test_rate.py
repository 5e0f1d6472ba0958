"""Rates over the budget and over blocks, and shares of tokens predicted whatever share is selected."""

import math

import pytest
import torch
from scipy import stats

from objectives import IGNORE, MLM, Budget, Corruption, Drawn, Key, Scheduled, Stratified
from objectives.corruption.rate import as_rate
from objectives.mlm import cloze
from objectives.training.optimizer import mean_over_budget
from tests.support.objectives import FALSE_ALARM, VOCABULARY, build, make_batch


def key_of(batch, spent=1.0):
    return Key(1, batch.epoch_B, batch.index_B, spent)


def bounds(trials, probability):
    return stats.binom.ppf([FALSE_ALARM / 2, 1 - FALSE_ALARM / 2], trials, probability)


@pytest.mark.parametrize(
    ("rate", "expected"),
    [
        (Scheduled(0.3, 0.15), {0.0: 0.3, 0.5: 0.225, 1.0: 0.15}),
        (Scheduled(0.3, 0.1, "cosine"), {0.0: 0.3, 0.25: 0.2 + 0.1 * math.cos(math.pi / 4), 0.5: 0.2, 1.0: 0.1}),
        (Scheduled(0.1, 0.4, "step", 0.75), {0.0: 0.1, 0.7499: 0.1, 0.75: 0.4, 1.0: 0.4}),
        (as_rate(0.2), {0.0: 0.2, 1.0: 0.2}),
    ],
)
def test_a_schedule_is_a_function_of_the_budget(rate, expected):
    batch = make_batch(blocks=3)
    for spent, value in expected.items():
        assert rate.mean(spent) == rate.one(spent) == pytest.approx(value, abs=1e-12)
        assert rate.of_blocks(key_of(batch, spent)).tolist() == [[rate.mean(spent)]] * 3


@pytest.mark.parametrize("rate", [Scheduled(0.3, 0.15), Scheduled(0.5, 0.05, "cosine"), Scheduled(0.15, 0.6, "step")])
@pytest.mark.parametrize("spent", [0.0, 0.3, 0.9])
def test_the_scheduled_share_is_selected(rate, spent):
    batch = make_batch(blocks=400, length=64)
    _, selected = Corruption(rate)(batch.tokens_BT, key_of(batch, spent), VOCABULARY)
    regular = int((~VOCABULARY.is_special(batch.tokens_BT)).sum())
    low, high = bounds(regular, rate.mean(spent))
    assert low <= int(selected.sum()) <= high


def test_a_schedule_selects_subsets_as_its_rate_falls():
    """The draws of a block stay those of its key: only the threshold moves."""
    batch = make_batch()
    early, late = (
        Corruption(Scheduled(0.5, 0.1))(batch.tokens_BT, key_of(batch, spent), VOCABULARY).selected_BT
        for spent in (0.1, 0.8)
    )
    assert (late & ~early).sum() == 0 and early.sum() > late.sum() > 0


def test_drawn_rates_are_uniform_and_each_block_has_its_own():
    batch, rate = make_batch(blocks=3000, length=32), Drawn(0.2, 0.6)
    rates = rate.of_blocks(key_of(batch))
    assert rates.shape == (3000, 1) and rates.dtype == torch.float64
    assert stats.kstest(rates.flatten().numpy(), stats.uniform(0.2, 0.4).cdf).pvalue > FALSE_ALARM
    assert torch.equal(rates, rate.of_blocks(key_of(batch, spent=0.1)))
    assert (Drawn(0.0, 1.0).of_blocks(key_of(batch)) > 0).all()
    selected = Corruption(rate)(batch.tokens_BT, key_of(batch), VOCABULARY).selected_BT
    regular = ~VOCABULARY.is_special(batch.tokens_BT)
    standardised = (selected.sum(1) - rates[:, 0] * regular.sum(1)) / (
        rates[:, 0] * (1 - rates[:, 0]) * regular.sum(1)
    ).sqrt()
    assert abs(standardised.mean()) < 5 / math.sqrt(3000) and standardised.std() == pytest.approx(1, abs=0.1)


@pytest.mark.parametrize("rate", [0.15, 0.4, 0.99, 1.0])
@pytest.mark.parametrize("prediction_rate", [0.01, 0.15, 0.6, 1.0])
@pytest.mark.parametrize("mix", [(0.8, 0.1, 0.1), (1, 0, 0)])
def test_what_is_predicted_does_not_depend_on_what_is_selected(rate, prediction_rate, mix):
    batch = make_batch(blocks=400, length=64)
    regular = ~VOCABULARY.is_special(batch.tokens_BT)
    view = cloze(batch.tokens_BT, key_of(batch), Corruption(rate, *mix), VOCABULARY, prediction_rate)
    predicted = view.targets_BT != IGNORE
    for chosen, share in ((view.selected_BT, rate), (predicted, prediction_rate)):
        assert not chosen[~regular].any()
        low, high = bounds(int(regular.sum()), share)
        assert low <= int(chosen.sum()) <= high
    # Fewer are some of the selected ones; more are all of them and others besides.
    if prediction_rate <= rate:
        assert not (predicted & ~view.selected_BT).any()
    if prediction_rate >= rate:
        assert not (view.selected_BT & ~predicted).any()
    plain = cloze(batch.tokens_BT, key_of(batch), Corruption(rate, *mix), VOCABULARY)
    assert torch.equal(view.inputs_BT, plain.inputs_BT), "what is read is the same"


def test_densities_and_flops_follow_the_schedule():
    scheduled = build(MLM, corruption=Corruption(Scheduled(0.3, 0.15)))
    assert scheduled.densities(0.0) == (0.3,) and scheduled.densities(1.0) == (0.15,)
    assert scheduled.nominal_density == pytest.approx(0.225)
    low, middle, high = (build(MLM, corruption=Corruption(rate)).flops_per_token(32) for rate in (0.15, 0.225, 0.3))
    assert scheduled.flops_per_token(32) == pytest.approx(middle) and low < middle < high
    tokens = build(MLM, corruption=Corruption(Scheduled(0.3, 0.15)), budget=Budget(flops=1e9)).budget_tokens(32)
    assert tokens == math.ceil(1e9 / scheduled.flops_per_token(32))
    assert build(MLM, prediction_rate=0.7).nominal_density == 0.7
    assert mean_over_budget(Scheduled(0.2, 0.6, "step", 0.25).mean) == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Scheduled(0.3, -0.1), r"in \[0, 1\]"),
        (lambda: Scheduled(1.1, 0.3), r"in \[0, 1\]"),
        (lambda: Corruption(Scheduled(0.3, 0.0)), r"mask rate must be in \(0, 1\], but is 0.0"),
        (lambda: Corruption(Scheduled(0.0, 0.3)), r"mask rate must be in \(0, 1\], but is 0.0"),
        (lambda: Scheduled(0.3, 0.1, "exponential"), "linear, cosine or step"),  # type: ignore[arg-type]
        (lambda: Scheduled(0.3, 0.1, "step", 1.0), "switch"),
        (lambda: Drawn(0.5, 0.5), "low, high"),
        (lambda: Drawn(0.5, 1.5), "low, high"),
        (lambda: build(MLM, prediction_rate=0.0), r"\(0, 1\]"),
        (lambda: build(MLM, prediction_rate=1.1), r"\(0, 1\]"),
    ],
)
def test_rates_out_of_range_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize(
    "rate",
    [
        as_rate(0.2),
        Scheduled(0.3, 0.15),
        Scheduled(0.1, 0.9, "cosine"),
        Scheduled(0.1, 0.4, "step", 0.75),
        Drawn(0.2, 0.6),
        Stratified(0.05, 1.0),
    ],
)
def test_a_mean_over_the_budget_is_that_of_its_places(rate):
    assert rate.over_budget() == pytest.approx(mean_over_budget(rate.mean), abs=1e-6)
