"""Rates within their binomial bounds, and replacement only where it is allowed."""

import math

import pytest
import torch
from scipy import stats

from objectives import Corruption, ExactCount
from objectives.corruption import Replacement
from tests.support.objectives import FALSE_ALARM, HOLES, VOCABULARY, make_batch


def within_binomial(successes: int, trials: int, probability: float) -> bool:
    low, high = stats.binom.ppf([FALSE_ALARM / 2, 1 - FALSE_ALARM / 2], trials, probability)
    return bool(low <= successes <= high)


def corrupt(corruption, blocks=400, length=64, seed=1):
    batch = make_batch(blocks=blocks, length=length)
    return batch.tokens_BT, corruption(batch.tokens_BT, batch.key(seed), VOCABULARY)


@pytest.mark.parametrize("rate", [0.15, 0.4, 1.0])
@pytest.mark.parametrize("mix", [(0.8, 0.1, 0.1), (1, 0, 0), (0, 0, 1), (0, 1, 0), (0.0, 0.8, 0.2)])
def test_rate_and_mix_are_realised(rate, mix):
    mask, random, keep = mix
    tokens, (inputs, selected) = corrupt(Corruption(rate, mask, random, keep))
    regular = ~VOCABULARY.is_special(tokens)
    assert not selected[~regular].any()
    assert torch.equal(inputs[~selected], tokens[~selected])
    assert within_binomial(int(selected.sum()), int(regular.sum()), rate)
    count = int(selected.sum())
    shown = inputs[selected]
    assert within_binomial(int((shown == VOCABULARY.mask).sum()), count, mask)
    # A random token is the true one with probability 1 / V.
    same = keep + random / VOCABULARY.regular
    assert within_binomial(int((shown == tokens[selected]).sum()), count, same)


def test_random_tokens_are_uniform_over_the_regular_ids():
    _, (inputs, selected) = corrupt(Corruption(1.0, 0, 1, 0), blocks=800)
    counts = torch.bincount(inputs[selected], minlength=VOCABULARY.size)
    assert counts[list(VOCABULARY.specials)].sum() == 0
    regular = [i for i in range(VOCABULARY.size) if i not in VOCABULARY.specials]
    assert stats.chisquare(counts[regular].numpy()).pvalue > FALSE_ALARM


def test_each_regular_id_is_drawn_by_its_own_share_of_the_draws_and_no_other_id_ever(monkeypatch):
    """Exactly: of evenly spread draws, each regular id gets equally many; holes and special ids get none."""
    count, times = HOLES.regular, 7
    draws = (torch.arange(count * times, dtype=torch.float64)[None] + 0.5) / (count * times)
    monkeypatch.setattr("objectives.corruption.replacement.uniform", lambda key, purpose, length: draws)
    tokens = torch.full(draws.shape, 8)
    batch = make_batch(blocks=1)
    inputs = Replacement(0, 1, 0)(tokens, tokens == 8, batch.key(1), HOLES)
    counts = torch.bincount(inputs.flatten(), minlength=HOLES.size).tolist()
    others = (*HOLES.specials, *HOLES.unused)
    assert counts == [0 if number in others else times for number in range(HOLES.size)]


@pytest.mark.parametrize("rate", [0.15, 0.5, 0.01, 1.0])
def test_exact_selection_takes_the_stated_count(rate):
    tokens, (_, selected) = corrupt(Corruption(rate, selection=ExactCount()), blocks=50)
    regular = (~VOCABULARY.is_special(tokens)).sum(1)
    expected = [math.floor(rate * n + 0.5) for n in regular.tolist()]
    assert selected.sum(1).tolist() == expected


def test_exact_selection_is_uniform_over_positions():
    tokens, (_, selected) = corrupt(Corruption(0.3, selection=ExactCount()), blocks=4000, length=32)
    counts = selected.sum(0)[~VOCABULARY.is_special(tokens[0])]
    chosen = int(selected[0].sum())
    expected = chosen / len(counts)
    assert all(within_binomial(count, 4000, expected) for count in counts.tolist())


@pytest.mark.parametrize("rate", [0.0, -0.1, 1.1, float("nan")])
def test_rate_outside_its_range_is_refused(rate):
    with pytest.raises(ValueError, match=r"\(0, 1\]"):
        Corruption(rate=rate)


@pytest.mark.parametrize("mix", [(0.8, 0.5, 0.1), (0.8, 0.1, 0.0), (1.2, -0.2, 0.0), (float("nan"), 0.5, 0.5)])
def test_mix_that_does_not_sum_to_one_is_refused(mix):
    with pytest.raises(ValueError, match="sum to"):
        Corruption(0.15, *mix)


def test_unknown_selection_is_refused():
    with pytest.raises(ValueError, match="a Selection"):
        Corruption(selection="some")  # type: ignore[arg-type]
