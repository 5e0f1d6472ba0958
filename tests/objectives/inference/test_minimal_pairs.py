"""Statistics of minimal pairs, against scipy's own."""

import numpy as np
import pytest
from scipy import stats

from objectives.inference.minimal_pairs import accuracy, mean_paired_difference, outcome


def test_an_outcome_is_a_win_a_loss_or_half():
    assert [outcome(-1.0, -2.0), outcome(-2.0, -1.0), outcome(-1.0, -1.0)] == [1, 0, 0.5]


@pytest.mark.parametrize(("wins", "n"), [(0, 5), (3, 7), (90, 100), (12, 12)])
def test_the_interval_is_wilsons(wins, n):
    share = accuracy([1.0] * wins + [0.0] * (n - wins))
    reference = stats.binomtest(wins, n).proportion_ci(method="wilson")
    assert share == pytest.approx((wins / n, reference.low, reference.high), abs=1e-12)


def test_ties_count_half():
    assert accuracy([1, 0.5, 0.5, 0]).value == 0.5


def test_a_difference_is_taken_pair_by_pair():
    draw = np.random.default_rng(0)
    ours, reference = draw.choice([0, 0.5, 1], 200), draw.choice([0, 0.5, 1], 200)
    expected = stats.ttest_rel(ours, reference).confidence_interval(0.95)
    difference = mean_paired_difference(list(ours), list(reference))
    assert difference == pytest.approx(((ours - reference).mean(), expected.low, expected.high), abs=1e-12)
    assert mean_paired_difference([1, 1], [0, 0]) == (1, None, None)
    assert mean_paired_difference([1], [0]) == (1, None, None)
