import math

import numpy as np
import pytest

from analysis.records.run_records import Missing
from analysis.statistics.convergence import (
    Crossing,
    crossover,
    first_crossing,
    mean_budget,
    ratio,
)
from analysis.statistics.curves import Line
from analysis.statistics.intervals import log_interval


def line(x, y, seed=0, finished=True):
    return Line(seed, np.asarray(x, float), np.asarray(y, float), finished)


def walk_to(curve: Line, goal: float, points: int = 200_001) -> float:
    """Brute force: the first of many places, evenly spaced in log budget, where the best has arrived."""
    best = np.maximum.accumulate(curve.y)
    fine = np.geomspace(curve.x[0], curve.x[-1], points)
    values = np.interp(np.log(fine), np.log(curve.x), best)
    return float(fine[np.argmax(values >= goal)])


@pytest.mark.parametrize("seed", range(8))
def test_first_crossing_is_brute_force(seed):
    rng = np.random.default_rng(seed)
    curve = line(np.cumsum(rng.uniform(1, 50, 12)) * 1000, np.sort(rng.uniform(0, 1, 12)) + rng.normal(0, 0.1, 12))
    best = np.maximum.accumulate(curve.y)
    goal = float(best[0] + 0.6 * (best[-1] - best[0]))
    found = first_crossing(curve, goal)
    assert found.kind == "reached"
    assert found.budget == pytest.approx(walk_to(curve, goal), rel=1e-4)


def test_running_best_ignores_a_later_fall():
    assert first_crossing(line([1, 10, 100], [0, 1, 0]), 0.5) == Crossing(pytest.approx(math.sqrt(10)), "reached")


def test_exactly_at_a_snapshot():
    assert first_crossing(line([1, 10, 100], [0, 0.5, 1]), 0.5).budget == pytest.approx(10)


def test_segment_from_zero_is_linear():
    assert first_crossing(line([0, 100], [0, 1]), 0.25) == Crossing(25.0, "reached")


def test_censoring():
    curve = line([5, 10], [0.2, 0.3])
    assert first_crossing(curve, 0.4) == Crossing(10, "never")
    assert first_crossing(curve, 0.1) == Crossing(5, "early")
    assert first_crossing(line([5, 10], [0.2, 0.3], finished=False), 0.4) == Crossing(10, "unfinished")


def test_falling_quantities_cross_downwards():
    assert first_crossing(line([1, 100], [4, 2]), 3, falling=True) == Crossing(pytest.approx(10), "reached")


def test_mean_budget_is_geometric_and_refuses_censored_seeds():
    found = {s: Crossing(b, "reached") for s, b in enumerate([100.0, 200.0, 400.0])}
    interval = mean_budget(found)
    assert not isinstance(interval, Missing) and interval.mean == pytest.approx(200)
    found[3] = Crossing(1000, "never")
    assert str(mean_budget(found)) == "missing (never in 1 of 4 seeds)"
    assert isinstance(mean_budget({}), Missing)


def test_paired_ratio():
    arm = {s: Crossing(b, "reached") for s, b in enumerate([200.0, 330.0, 500.0])}
    reference = {s: Crossing(b, "reached") for s, b in enumerate([100.0, 110.0, 250.0])}
    found = ratio(arm, reference, [0, 1, 2])
    assert found.exact == pytest.approx({0: 2.0, 1: 3.0, 2: 2.0})
    assert found.interval == log_interval(found.exact.values())
    assert ratio(arm, reference, [0, 1]).interval == log_interval([2.0, 3.0])


@pytest.mark.parametrize(
    ("ours", "theirs", "bound"),
    [
        (("never", 1000), ("reached", 100), "≥ 2.00 in every seed"),
        (("unfinished", 1000), ("early", 100), "≥ 2.00 in every seed"),
        (("reached", 50), ("never", 1000), "≤ 2.00 in every seed"),
        (("early", 100), ("reached", 1000), "≤ 2.00 in every seed"),
        (("never", 1000), ("never", 1000), ""),
        (("early", 10), ("early", 10), ""),
    ],
)
def test_censored_ratio_leaves_a_bound_and_no_interval(ours, theirs, bound):
    arm = {0: Crossing(200, "reached"), 1: Crossing(ours[1], ours[0])}
    reference = {0: Crossing(100, "reached"), 1: Crossing(theirs[1], theirs[0])}
    found = ratio(arm, reference, [0, 1])
    assert isinstance(found.interval, Missing) and "1 of 2 seeds censored" in str(found.interval)
    assert found.bound == bound


def test_crossover_known_and_brute_force():
    x = [1, 10, 100, 1000]
    ours, theirs = line(x, [0, 0.2, 0.6, 0.9]), line(x, [0.3, 0.4, 0.5, 0.6])
    found = crossover(ours, theirs)
    fine = np.geomspace(1, 1000, 200_001)
    gap = np.interp(np.log(fine), np.log(x), ours.y) - np.interp(np.log(fine), np.log(x), theirs.y)
    assert found.first == found.last == pytest.approx(fine[np.argmax(gap > 0)], rel=1e-4)
    assert (found.changes, found.leads_at_end) == (1, True)


def test_crossover_several_times_and_never():
    x = [1, 10, 100, 1000]
    found = crossover(line(x, [1, 0, 1, 0]), line(x, [0, 1, 0, 1]))
    assert (found.changes, found.leads_at_end) == (3, False)
    assert (found.first, found.last) == pytest.approx((10**0.5, 10**2.5))
    apart = crossover(line(x, [2, 2, 2, 2]), line(x, [1, 1, 1, 1]))
    assert (apart.first, apart.last, apart.changes, apart.leads_at_end) == (None, None, 0, True)
    assert crossover(line(x, [1, 1, 1, 1]), line(x, [1, 1, 1, 1])).leads_at_end is None


def test_crossover_ties_and_falling_and_unequal_snapshots():
    x = [1, 10, 100, 1000]
    assert crossover(line(x, [0, 1, 1, 2]), line(x, [1, 1, 1, 1])).first == pytest.approx(100)
    assert crossover(line(x, [0, 1, 0, 0]), line(x, [1, 1, 1, 1])).changes == 0
    assert crossover(line(x, [4, 3, 2, 1]), line(x, [2, 2, 2, 2]), falling=True).leads_at_end is True
    moved = crossover(line([2, 200], [0, 2]), line([1, 20, 400], [1, 1, 1]))
    assert moved.first == pytest.approx(20)
