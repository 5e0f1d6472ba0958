"""Standard errors over items: by an independent formula, and by drawing."""

import math

import numpy as np
import pytest
import torch

from experiments.evaluation.standard_errors import cluster_sums, mean_of_ratios, ratio, share, with_standard_error
from experiments.records.quantities import Quantity


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
    value, error = ratio(cluster_sums(x, n))
    assert value == pytest.approx(float(x.sum() / n.sum()))
    assert error == pytest.approx(jackknifed(lambda x, n: float(x.sum() / n.sum()), x, n), rel=0.03)
    assert (value, error) == pytest.approx(mean_of_ratios(x[:, None], n[:, None]))


def test_parts_of_the_clusters_add_up():
    x, n = clusters(1)
    assert ratio(cluster_sums(x[:13], n[:13]) + cluster_sums(x[13:], n[13:])) == pytest.approx(
        ratio(cluster_sums(x, n))
    )


def test_a_mean_of_ratios_has_the_standard_error_of_the_jackknife():
    (x, n), (y, m) = clusters(2), clusters(3)
    numerators, denominators = torch.stack([x, y], 1), torch.stack([n, m], 1)
    value, error = mean_of_ratios(numerators, denominators)
    assert value == pytest.approx(float(x.sum() / n.sum() + y.sum() / m.sum()) / 2)
    expected = jackknifed(lambda a, b: float((a.sum(0) / b.sum(0)).mean()), numerators, denominators)
    assert error == pytest.approx(expected, rel=0.03)


def test_of_equal_clusters_it_is_the_standard_error_of_their_mean():
    x = torch.tensor([1.0, 2.0, 4.0, 4.5])
    assert ratio(cluster_sums(x, torch.ones(4)))[1] == pytest.approx(float(x.std()) / 2)
    assert ratio(cluster_sums(torch.full((4,), 0.1), torch.ones(4)))[1] == pytest.approx(0, abs=1e-8)


def test_of_one_cluster_or_none_it_is_not_known():
    assert math.isnan(ratio(cluster_sums(torch.ones(1), torch.ones(1)))[1])
    assert math.isnan(mean_of_ratios(torch.ones(1, 1), torch.ones(1, 1))[1])
    assert all(map(math.isnan, ratio(cluster_sums(torch.zeros(3), torch.zeros(3)))))
    assert all(map(math.isnan, ratio(cluster_sums(torch.tensor([1.0, math.inf]), torch.ones(2)))[1:]))


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
