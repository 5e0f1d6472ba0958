import math

import numpy as np
import pytest
from scipy import stats

from analysis.statistics.intervals import log_interval, paired_difference, t_interval


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
    same = paired_difference({0: 0.604, 1: 0.504}, {0: 0.6, 1: 0.5})
    assert same is not None and same.mean == pytest.approx(0.004) and not same.excludes(0)


def test_no_value_is_an_error():
    with pytest.raises(ValueError, match="at least one"):
        t_interval([])


def test_paired_difference_uses_common_seeds_and_scipys_paired_t():
    arm, reference = {0: 0.61, 1: 0.72, 2: 0.55, 9: 5.0}, {0: 0.50, 1: 0.63, 2: 0.49, 7: -5.0}
    found = paired_difference(arm, reference)
    test = stats.ttest_rel([0.61, 0.72, 0.55], [0.50, 0.63, 0.49]).confidence_interval(0.95)
    assert found is not None and found.n == 3
    assert (found.low, found.high) == pytest.approx((test.low, test.high))
    assert paired_difference({0: 1.0}, {1: 1.0}) is None


def test_pairing_removes_what_seeds_share():
    shared = {seed: 10.0 * seed for seed in range(4)}
    arm = {seed: value + 1 + 0.01 * seed for seed, value in shared.items()}
    found = paired_difference(arm, shared)
    assert found is not None and found.excludes(0) and found.mean == pytest.approx(1.015)


def test_log_interval_is_the_t_interval_of_logs():
    values = [1.5, 2.0, 3.0]
    inner = t_interval(math.log(v) for v in values)
    found = log_interval(values)
    assert found.mean == pytest.approx(stats.gmean(values))
    assert (found.low, found.high) == pytest.approx((math.exp(inner.low), math.exp(inner.high)))
    flipped = log_interval(1 / v for v in values)
    assert (flipped.low, flipped.high) == pytest.approx((1 / found.high, 1 / found.low))
