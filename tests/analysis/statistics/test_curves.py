import numpy as np
import pytest

from analysis.statistics.curves import Line, at, band


def line(x, y, seed=0, finished=True):
    return Line(seed, np.asarray(x, float), np.asarray(y, float), finished)


def test_at_reads_a_curve_on_the_log_scale():
    x, y = np.asarray([0.0, 10.0, 1000.0]), np.asarray([0.0, 1.0, 3.0])
    assert at(x, y, np.asarray([0.0, 5.0, 10.0, 100.0, 1000.0])) == pytest.approx([0, 0.5, 1, 2, 3])
    assert at(np.asarray([5.0]), np.asarray([2.0]), np.asarray([5.0])) == pytest.approx([2])


def test_band_averages_at_common_places_and_interpolates_otherwise():
    same = band([line([1, 10, 100], [0, 1, 2]), line([1, 10, 100], [2, 3, 4], seed=1)])
    assert same is not None and not same.interpolated and same.n == 2
    assert same.mean == pytest.approx([1, 2, 3])
    moved = band([line([1, 100], [0, 2]), line([10, 1000], [1, 3], seed=1)])
    assert moved is not None and moved.interpolated
    assert (moved.x[0], moved.x[-1]) == pytest.approx((10, 100))
    assert moved.mean == pytest.approx(np.log10(moved.x))
    assert band([line([1, 2], [0, 1]), line([5, 6], [0, 1])]) is None
    assert band([]) is None


def test_band_leaves_unfinished_seeds_out_once_one_is_finished():
    unfinished = line([1, 10], [8, 8], seed=1, finished=False)
    mixed = band([line([1, 10, 100], [0, 1, 2]), unfinished])
    assert mixed is not None and mixed.n == 1 and mixed.mean == pytest.approx([0, 1, 2])
    alone = band([unfinished])
    assert alone is not None and alone.n == 1
