import math

import numpy as np
import pytest

from analysis.statistics.curves import interpolate, mean_curve
from tests.support.grids import curve


def test_interpolation_is_on_the_log_scale():
    x, y = np.asarray([0.0, 10.0, 1000.0]), np.asarray([0.0, 1.0, 3.0])
    assert interpolate(x, y, np.asarray([0.0, 5.0, 10.0, 100.0, 1000.0])) == pytest.approx([0, 0.5, 1, 2, 3])
    assert interpolate(np.asarray([5.0]), np.asarray([2.0]), np.asarray([5.0])) == pytest.approx([2])


def test_mean_curve_averages_at_common_places_and_interpolates_otherwise():
    same = mean_curve([curve([1, 10, 100], [0, 1, 2]), curve([1, 10, 100], [2, 3, 4], seed=1)])
    assert same is not None and not same.interpolated and same.n == 2
    assert same.mean == pytest.approx([1, 2, 3])
    moved = mean_curve([curve([1, 100], [0, 2]), curve([10, 1000], [1, 3], seed=1)])
    assert moved is not None and moved.interpolated
    assert (moved.x[0], moved.x[-1]) == pytest.approx((10, 100))
    assert moved.mean == pytest.approx(np.log10(moved.x))
    assert mean_curve([curve([1, 2], [0, 1]), curve([5, 6], [0, 1])]) is None
    assert mean_curve([]) is None


def test_mean_curve_leaves_unfinished_seeds_out_once_one_is_finished():
    unfinished = curve([1, 10], [8, 8], seed=1, finished=False)
    mixed = mean_curve([curve([1, 10, 100], [0, 1, 2]), unfinished])
    assert mixed is not None and mixed.n == 1 and mixed.mean == pytest.approx([0, 1, 2])
    alone = mean_curve([unfinished])
    assert alone is not None and alone.n == 1


def test_logarithmic_mean_curve_is_geometric_and_leaves_a_gap_at_zero():
    found = mean_curve([curve([1, 10, 100], [4, 2, 1]), curve([1, 10, 100], [1, 0.5, -0.01], seed=1)], logarithmic=True)
    assert found is not None and found.mean[:2] == pytest.approx([2, 1]) and np.isnan(found.mean[2])
    half = 12.706204736 * math.log(4) / 2
    assert (found.low[0], found.high[0]) == pytest.approx((2 * math.exp(-half), 2 * math.exp(half)))
