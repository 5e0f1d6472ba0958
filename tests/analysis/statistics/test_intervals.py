import math

import numpy as np
import pytest
from scipy import stats

from analysis.statistics.intervals import (
    Measured,
    combined_half_width,
    error_of_parts,
    half_width,
    interval_of,
    log_interval,
    log_interval_of,
    paired_difference,
    t_interval,
)


def measured(scores, error=0.0):
    return {seed: Measured(score, error) for seed, score in scores.items()}


@pytest.mark.parametrize("n", [2, 3, 5, 30])
def test_t_interval_is_scipys(n):
    values = np.random.default_rng(n).normal(0.7, 0.1, n)
    low, high = stats.t.interval(0.95, n - 1, loc=values.mean(), scale=stats.sem(values))
    ours = t_interval(values)
    assert (ours.mean, ours.low, ours.high) == pytest.approx((values.mean(), low, high), rel=1e-12)
    assert ours.n == n


def test_one_value_has_no_interval_and_distinguishes_nothing():
    one = t_interval([0.3])
    assert (one.low, one.high, one.n) == (None, None, 1)
    assert not one.excludes(0)


def test_equal_differences_in_all_seeds_claim_nothing():
    same = paired_difference(measured({0: 0.604, 1: 0.504}, 0.01), measured({0: 0.6, 1: 0.5}))
    assert same is not None and same.mean == pytest.approx(0.004) and not same.excludes(0)


def test_no_value_is_an_error():
    with pytest.raises(ValueError, match="at least one"):
        t_interval([])


def test_paired_difference_uses_common_seeds_and_scipys_paired_t():
    arm, reference = {0: 0.61, 1: 0.72, 2: 0.55, 9: 5.0}, {0: 0.50, 1: 0.63, 2: 0.49, 7: -5.0}
    found = paired_difference(measured(arm), measured(reference))
    test = stats.ttest_rel([0.61, 0.72, 0.55], [0.50, 0.63, 0.49]).confidence_interval(0.95)
    assert found is not None and found.n == 3
    assert (found.low, found.high) == pytest.approx((test.low, test.high))
    assert paired_difference(measured({0: 1.0}), measured({1: 1.0})) is None


def test_pairing_removes_what_seeds_share():
    shared = {seed: 10.0 * seed for seed in range(4)}
    arm = {seed: value + 1 + 0.01 * seed for seed, value in shared.items()}
    found = paired_difference(measured(arm), measured(shared))
    assert found is not None and found.excludes(0) and found.mean == pytest.approx(1.015)


def test_log_interval_is_the_t_interval_of_logs():
    values = [1.5, 2.0, 3.0]
    inner = t_interval(math.log(v) for v in values)
    found = log_interval(values)
    assert found.mean == pytest.approx(stats.gmean(values))
    assert (found.low, found.high) == pytest.approx((math.exp(inner.low), math.exp(inner.high)))
    flipped = log_interval(1 / v for v in values)
    assert (flipped.low, flipped.high) == pytest.approx((1 / found.high, 1 / found.low))


def test_the_luck_of_shared_items_adds_to_that_of_seeds_and_does_not_shrink_with_their_number():
    values = [0.70, 0.72, 0.77]
    seeds = t_interval(values)
    both = interval_of([Measured(value, error) for value, error in zip(values, (0.03, 0.04, 0.05), strict=True)])
    items = 1.959964 * math.sqrt((0.03**2 + 0.04**2 + 0.05**2) / 3)
    assert both.high - both.mean == pytest.approx(math.hypot(seeds.high - seeds.mean, items))
    many = interval_of([Measured(0.7 + 0.001 * (seed % 2), 0.04) for seed in range(1000)])
    assert many.high - many.mean == pytest.approx(1.96 * 0.04, rel=1e-3)


def test_differences_and_logs_carry_the_luck_of_items_along():
    one, other = Measured(0.7, 0.03), Measured(0.6, 0.04)
    assert (one - other).value == pytest.approx(0.1) and (one - other).error == pytest.approx(0.05)
    scores = [Measured(2.0, 0.02), Measured(3.0, 0.03), Measured(4.0, 0.04)]
    found, inner = log_interval_of(scores), t_interval((math.log(one.value) for one in scores), [0.01] * 3)
    assert (found.low, found.high) == pytest.approx((math.exp(inner.low), math.exp(inner.high)))


DRAWS = 40_000


def coverage(n, items, luck=1.0, blocks=256):
    """Share of intervals, with and without the part of the items, that hold the truth, which is 0.

    Seeds differ with a standard deviation of √n, so their mean has a standard error of 1; that of the items is `items`.
    luck: the correlation between seeds of what the items do to a score; the rest differs by seed and is noise of it.
    Standard errors are estimated from as many blocks, as those of metrics are.
    """
    draw = np.random.default_rng([n, round(10 * items), round(10 * luck)])
    shared = items * math.sqrt(luck) * draw.standard_normal(DRAWS)
    own = items * math.sqrt(1 - luck) * draw.standard_normal((n, DRAWS))
    scores = math.sqrt(n) * draw.standard_normal((n, DRAWS)) + shared + own
    errors = items * np.sqrt(draw.chisquare(blocks - 1, DRAWS) / (blocks - 1)) * np.ones((n, 1))
    halves = half_width(scores, errors), half_width(scores)
    return [float((np.abs(scores.mean(0)) <= half).mean()) for half in halves]


@pytest.mark.parametrize("items", [0.0, 0.3, 1.0, 3.0, 10.0])
def test_intervals_of_three_seeds_hold_the_truth_in_95_percent(items):
    both, seeds_alone = coverage(3, items)
    assert 0.945 < both < 0.98
    assert seeds_alone == pytest.approx(both) if items == 0 else seeds_alone < both
    if items >= 1:
        assert seeds_alone < 0.92
    if items >= 3:
        assert seeds_alone < 0.72


@pytest.mark.parametrize(("n", "luck"), [(2, 1.0), (10, 1.0), (3, 0.5), (3, 0.0)])
@pytest.mark.parametrize("items", [0.3, 1.0, 3.0])
def test_with_other_seeds_or_luck_that_is_not_wholly_shared_they_err_on_the_safe_side(n, items, luck):
    assert coverage(n, items, luck)[0] > 0.945


@pytest.mark.parametrize(("luck", "safe"), [(0.0, 0.945), (0.6, 0.98)])
def test_without_parts_differences_are_covered_and_more_so_where_luck_is_shared(luck, safe):
    """Arms that ask different questions share no luck. On the same items the part that cancels is not taken off."""
    draw = np.random.default_rng(7)
    common = draw.standard_normal(DRAWS)
    arms = [
        2 * (math.sqrt(luck) * common + math.sqrt(1 - luck) * draw.standard_normal(DRAWS))
        + math.sqrt(3) * draw.standard_normal((3, DRAWS))
        for _ in range(2)
    ]
    differences = arms[0] - arms[1]
    both, seeds_alone = (
        float((np.abs(differences.mean(0)) <= half).mean())
        for half in (half_width(differences, np.full((3, DRAWS), math.hypot(2, 2))), half_width(differences))
    )
    assert safe < both and seeds_alone < 0.93


@pytest.mark.parametrize(("luck", "between_seeds"), [(0.0, 1.0), (0.6, 1.0), (0.98, 1.0), (0.6, 0.7), (0.0, 0.0)])
def test_with_parts_differences_are_covered_however_much_luck_is_shared(luck, between_seeds):
    """luck: what the two arms share of it; between_seeds: what the seeds of an arm share of the rest."""
    draw, shape, seeds, items = np.random.default_rng(8), (20, DRAWS // 8), 3, 2.0
    common = draw.standard_normal(shape)
    parts = []
    for _ in range(2):
        of_arm = draw.standard_normal(shape)
        of_seed = draw.standard_normal((seeds, *shape))
        rest = math.sqrt(between_seeds) * of_arm + math.sqrt(1 - between_seeds) * of_seed
        parts.append(items / math.sqrt(20) * (math.sqrt(luck) * common + math.sqrt(1 - luck) * rest))
    difference = parts[0] - parts[1]
    values = difference.sum(1) + math.sqrt(seeds) * draw.standard_normal((seeds, shape[1]))
    centred = difference - difference.mean(1, keepdims=True)
    half = combined_half_width(values.std(0, ddof=1), seeds, error_of_parts(centred.mean(0)), 19)
    covered = float((np.abs(values.mean(0)) <= half).mean())
    assert 0.94 < covered < (0.985 if between_seeds == 1 else 1)  # what differs by seed is in s as well
    conservative = half_width(values, math.hypot(items, items))
    assert half.mean() < (0.8 if luck == 0.98 else 1.15) * conservative.mean()


def test_parts_of_a_difference_are_those_of_both_sides_seed_by_seed():
    draw = np.random.default_rng(9)
    luck = draw.normal(0, 0.1, 20)
    luck -= luck.mean()
    arm = {seed: Measured(0.6 + 0.01 * seed, 0.4, tuple(luck * 1.1)) for seed in range(3)}
    reference = {seed: Measured(0.5, 0.4, tuple(luck)) for seed in range(3)}
    found = paired_difference(arm, reference)
    items = stats.t.ppf(0.975, 19) * math.sqrt(20 / 19 * (0.01 * luck**2).sum())
    seeds = stats.t.ppf(0.975, 2) * 0.01 / math.sqrt(3)
    assert found.high - found.mean == pytest.approx(math.hypot(seeds, items))
    apart = arm[0] - reference[0]
    assert apart.error == pytest.approx(math.sqrt(20 / 19 * (0.01 * luck**2).sum()))
    lacking = {seed: Measured(one.value, one.error) for seed, one in reference.items()}
    assert paired_difference(arm, lacking).high - found.mean > 1.95 * math.hypot(0.4, 0.4)
    assert interval_of(arm.values()).high == pytest.approx(t_interval([0.6, 0.61, 0.62], [0.4] * 3).high)
