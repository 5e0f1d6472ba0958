"""Standard errors over items: by an independent formula, and by drawing."""

import math

import numpy as np
import pytest
import torch

from experiments.evaluation.standard_errors import (
    FEWEST,
    FOLDS,
    cluster_sums,
    folds,
    jackknife,
    mean_of_ratios,
    ratio,
    share,
    with_standard_error,
)
from experiments.records.quantities import Quantity


def sums(x, n):
    return cluster_sums(x, n, folds(torch.arange(len(x))))


def clusters(seed, count=40):
    draw = np.random.default_rng(seed)
    sizes = draw.integers(1, 20, count).astype(float)
    return torch.tensor(sizes * draw.normal(3, 1, count)), torch.tensor(sizes)


def jackknifed(statistic, *parts):
    """Standard error by leaving out one cluster at a time (Tukey 1958)."""
    count = len(parts[0])
    kept = [torch.arange(count) != left_out for left_out in range(count)]
    values = np.array([statistic(*(part[rows] for part in parts)) for rows in kept])
    return math.sqrt((count - 1) / count * ((values - values.mean()) ** 2).sum())


def test_a_ratio_has_the_standard_error_of_the_jackknife():
    x, n = clusters(0)
    value, error = ratio(sums(x, n))
    assert value == pytest.approx(float(x.sum() / n.sum()))
    assert error == pytest.approx(jackknifed(lambda x, n: float(x.sum() / n.sum()), x, n), rel=0.03)
    assert (value, error) == pytest.approx(mean_of_ratios(x[:, None], n[:, None]))


def test_parts_of_the_clusters_add_up():
    x, n = clusters(1)
    fold = folds(torch.arange(len(x)))
    parts = cluster_sums(x[:13], n[:13], fold[:13]) + cluster_sums(x[13:], n[13:], fold[13:])
    assert ratio(parts)[0].parts == pytest.approx(ratio(sums(x, n))[0].parts, rel=1e-5)
    assert ratio(parts) == pytest.approx(ratio(sums(x, n)))


def test_a_mean_of_ratios_has_the_standard_error_of_the_jackknife():
    (x, n), (y, m) = clusters(2), clusters(3)
    numerators, denominators = torch.stack([x, y], 1), torch.stack([n, m], 1)
    value, error = mean_of_ratios(numerators, denominators)
    assert value == pytest.approx(float(x.sum() / n.sum() + y.sum() / m.sum()) / 2)
    expected = jackknifed(lambda a, b: float((a.sum(0) / b.sum(0)).mean()), numerators, denominators)
    assert error == pytest.approx(expected, rel=0.03)


def test_of_equal_clusters_it_is_the_standard_error_of_their_mean():
    x = torch.tensor([1.0, 2.0, 4.0, 4.5])
    assert ratio(sums(x, torch.ones(4)))[1] == pytest.approx(float(x.std()) / 2)
    assert ratio(sums(torch.full((4,), 0.1), torch.ones(4)))[1] == pytest.approx(0, abs=1e-8)


def test_of_one_cluster_or_none_it_is_not_known():
    assert math.isnan(ratio(sums(torch.ones(1), torch.ones(1)))[1])
    assert math.isnan(mean_of_ratios(torch.ones(1, 1), torch.ones(1, 1))[1])
    assert all(map(math.isnan, ratio(sums(torch.zeros(3), torch.zeros(3)))))
    assert all(map(math.isnan, ratio(sums(torch.tensor([1.0, math.inf]), torch.ones(2)))[1:]))


def test_a_share_of_all_is_not_certain():
    """None of n is wrong: the rule of three puts the upper limit of a 95 % interval at 3 / n."""
    value, error = share([1.0] * 100, [1.0] * 100)
    assert value == 1 and 0.02 < 1.96 * error < 0.04
    assert share([0.5, 1, 0, 1], [1.0] * 4)[0] == 0.625
    many = share([1.0] * 900 + [0.0] * 100, [1.0] * 1000)[1]
    assert many == pytest.approx(math.sqrt(0.9 * 0.1 / 1000), rel=0.02)


def test_a_score_and_its_standard_error_are_declared_together():
    score, error = with_standard_error(Quantity("my/score", "score", "nats", "lower", "all"))
    assert score.standard_error == error.name == "my/score_standard_error"
    assert error.label == "standard error of the score" and error.unit == "nats" and not error.comparable


def error_of(parts):
    return math.sqrt(FOLDS / (FOLDS - 1) * sum(part**2 for part in parts))


def test_parts_add_up_to_nothing_and_their_squares_to_the_variance():
    x, n = clusters(4, count=20_000)
    score, error = ratio(sums(x, n))
    assert sum(score.parts) == pytest.approx(0, abs=1e-3 * error) and len(score.parts) == FOLDS
    assert error_of(score.parts) == pytest.approx(error, rel=0.5)
    draws = [ratio(sums(*clusters(seed, count=200))) for seed in range(300)]
    variance = np.mean([error_of(one.parts) ** 2 for one, _ in draws])
    assert variance == pytest.approx(np.var([float(one) for one, _ in draws]), rel=0.2)


def test_of_two_scores_on_the_same_items_the_shared_luck_cancels():
    """One model is worse by a little in each block; blocks differ by much more."""
    x, n = clusters(5, count=500)
    worse = x + n * (0.1 + 0.01 * torch.tensor(np.random.default_rng(6).normal(size=500)))
    (one, error), (other, _) = ratio(sums(x, n)), ratio(sums(worse, n))
    apart = error_of(np.subtract(other.parts, one.parts))
    assert other - one == pytest.approx(0.1, abs=0.01) and apart < 0.03 * error


def test_every_way_to_a_score_cuts_the_items_alike():
    x, n = clusters(7)
    assert ratio(sums(x, n))[0].parts == pytest.approx(mean_of_ratios(x[:, None], n[:, None])[0].parts, rel=1e-5)


def test_parts_are_about_equally_large_also_for_blocks_that_are_evenly_spread():
    for step in (1, 20, 64, 1000):
        counts = torch.bincount(folds(torch.arange(4096) * step), minlength=FOLDS)
        assert counts.min() > 120 and counts.max() < 300


def test_of_few_items_there_are_no_parts():
    x, n = clusters(8, count=FEWEST - 1)
    assert ratio(sums(x, n))[0].parts == () == mean_of_ratios(x[:, None], n[:, None])[0].parts


def test_the_jackknife_of_a_ratio_is_that_of_leaving_out_one_cluster_at_a_time():
    x, n = clusters(9, count=50)
    value, error = jackknife(lambda sums: sums[..., 0] / sums[..., 1], torch.stack([x, n], 1))
    assert value == pytest.approx(ratio(sums(x, n))[0])
    assert error == pytest.approx(jackknifed(lambda x, n: float(x.sum() / n.sum()), x, n))
    assert value.parts == pytest.approx(ratio(sums(x, n))[0].parts, abs=0.03 * error)
    assert math.isnan(jackknife(lambda sums: sums[..., 0], torch.ones(1, 2))[1])
