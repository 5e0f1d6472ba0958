import math
from dataclasses import replace

import numpy as np
import pytest

from analysis.records.read_results import read_results
from analysis.records.run_records import Missing
from analysis.statistics.compare import compare, comparisons
from analysis.statistics.convergence import (
    Crossing,
    budget_ratios,
    counted_crossings,
    crossings,
    crossover,
    first_crossing,
    mean_budget,
    mean_budget_ratio,
)
from analysis.statistics.intervals import log_interval
from analysis.statistics.thresholds import Threshold, automatic_thresholds
from tests.support.declarations import declaration
from tests.support.grids import CLM, MLM, SNAPSHOTS, GridBuilder, curve, rising

EXCESS_LOSS, WORD_SWAP = declaration("validation/excess_loss"), declaration("word_swap/accuracy")


def fitted(y):
    """Brute force isotonic regression: at each place the largest of the least means of what is around it."""
    n = len(y)
    return np.asarray([max(min(y[j : k + 1].mean() for k in range(i, n)) for j in range(i + 1)) for i in range(n)])


def walk_to(x, y, wanted, points=200_001):
    """Brute force: the first of many places, evenly spaced in log budget, where the fit has arrived, its steps lying in
    the middle of what they stand for."""
    levels = fitted(y)
    steps = np.unique(levels)
    middles = [np.exp(np.log(x[np.isclose(levels, step, rtol=0, atol=1e-12)]).mean()) for step in steps]
    fine = np.geomspace(x[0], x[-1], points)
    return float(fine[np.argmax(np.interp(np.log(fine), np.log(middles), steps) >= wanted)])


@pytest.mark.parametrize("seed", range(8))
def test_first_crossing_is_brute_force(seed):
    rng = np.random.default_rng(seed)
    recorded = curve(np.cumsum(rng.uniform(1, 50, 12)) * 1000, np.sort(rng.uniform(0, 1, 12)) + rng.normal(0, 0.1, 12))
    levels = fitted(recorded.y)
    wanted = float(levels[0] + 0.6 * (levels[-1] - levels[0]))
    found = first_crossing(recorded, wanted)
    assert found.kind == "reached"
    assert found.budget == pytest.approx(walk_to(recorded.x, recorded.y, wanted), rel=1e-4)


def test_a_score_that_rises_and_falls_again_counts_as_its_mean():
    assert first_crossing(curve([1, 10, 1000], [0, 1, 0]), 0.25).budget == pytest.approx(10)
    assert first_crossing(curve([1, 10, 1000], [0, 1, 0]), 0.6).kind == "never"


@pytest.mark.slow
@pytest.mark.parametrize("snapshots", [7, 25])
@pytest.mark.parametrize("items", [100, 1000])
def test_ratios_of_budgets_are_unbiased_and_vary_less_than_those_of_the_running_best(snapshots, items):
    """Of two arms whose curves are known, measured on few items: the running best is ahead of a noisy curve."""
    draw = np.random.default_rng(snapshots * items)
    x = np.geomspace(1 / 64, 1, snapshots)
    halves, threshold = (0.05, 0.2), 0.7
    times = [half * (threshold - 0.5) / (0.85 - threshold) for half in halves]
    truth = math.log(times[1] / times[0])
    errors = {"fit": [], "best": []}
    for _ in range(2000):
        curves = [curve(x, draw.binomial(items, 0.5 + 0.35 * x / (x + half)) / items) for half in halves]
        for kind, of in errors.items():
            ys = [one if kind == "fit" else replace(one, y=np.maximum.accumulate(one.y)) for one in curves]
            found = [first_crossing(one, threshold) for one in ys]
            if all(one.kind == "reached" for one in found):
                of.append(math.log(found[1].budget / found[0].budget) - truth)
    assert len(errors["fit"]) > 1800
    assert abs(np.mean(errors["fit"])) < 0.05
    assert np.std(errors["fit"]) < (0.95 if items == 100 else 1.02) * np.std(errors["best"])


def test_exactly_at_a_snapshot():
    assert first_crossing(curve([1, 10, 100], [0, 0.5, 1]), 0.5).budget == pytest.approx(10)


def test_segment_from_zero_is_linear():
    assert first_crossing(curve([0, 100], [0, 1]), 0.25) == Crossing(25.0, "reached")


def test_censoring():
    recorded = curve([5, 10], [0.2, 0.3])
    assert first_crossing(recorded, 0.4) == Crossing(10, "never")
    assert first_crossing(recorded, 0.1) == Crossing(5, "early")
    assert first_crossing(curve([5, 10], [0.2, 0.3], finished=False), 0.4) == Crossing(10, "unfinished")


def test_falling_quantities_cross_downwards():
    assert first_crossing(curve([1, 100], [4, 2]), 3, falling=True) == Crossing(pytest.approx(10), "reached")


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
    found = budget_ratios(arm, reference, [0, 1, 2])
    assert found.exact == pytest.approx({0: 2.0, 1: 3.0, 2: 2.0})
    assert found.interval == log_interval(found.exact.values())
    assert budget_ratios(arm, reference, [0, 1]).interval == log_interval([2.0, 3.0])


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
    found = budget_ratios(arm, reference, [0, 1])
    assert isinstance(found.interval, Missing) and "1 of 2 seeds censored" in str(found.interval)
    assert found.bound == bound


def test_a_ratio_with_censored_seeds_is_cut_to_the_budgets_observed():
    """Never counts as at the end, early as at the first snapshot: a ratio of restricted mean log budgets."""

    def seen(budget, kind, last=1000.0):
        return Crossing(budget, kind, observed=(10.0, last))

    arm = {0: seen(200, "reached"), 1: seen(1000, "never"), 2: seen(400, "reached")}
    reference = {0: seen(100, "reached"), 1: seen(100, "reached"), 2: seen(10, "early")}
    found = budget_ratios(arm, reference, [0, 1, 2])
    assert found.restricted == pytest.approx({0: 2, 1: 10, 2: 40})
    assert found.restricted_interval == log_interval([2.0, 10.0, 40.0])
    # What one arm has seen beyond the end of the other does not count.
    longer = {0: seen(5000, "reached", last=9000.0)}
    assert budget_ratios(longer, reference, [0]).restricted == {0: 10.0}
    unfinished = {**arm, 1: seen(500, "unfinished", last=500.0)}
    assert isinstance(budget_ratios(unfinished, reference, [0, 1, 2]).restricted_interval, Missing)


def test_crossover_known_and_brute_force():
    x = [1, 10, 100, 1000]
    ours, theirs = curve(x, [0, 0.2, 0.6, 0.9]), curve(x, [0.3, 0.4, 0.5, 0.6])
    found = crossover(ours, theirs)
    fine = np.geomspace(1, 1000, 200_001)
    gap = np.interp(np.log(fine), np.log(x), ours.y) - np.interp(np.log(fine), np.log(x), theirs.y)
    assert found.first == found.last == pytest.approx(fine[np.argmax(gap > 0)], rel=1e-4)
    assert (found.changes, found.leads_at_end) == (1, True)


def test_crossover_several_times_and_never():
    x = [1, 10, 100, 1000]
    found = crossover(curve(x, [1, 0, 1, 0]), curve(x, [0, 1, 0, 1]))
    assert (found.changes, found.leads_at_end) == (3, False)
    assert (found.first, found.last) == pytest.approx((10**0.5, 10**2.5))
    apart = crossover(curve(x, [2, 2, 2, 2]), curve(x, [1, 1, 1, 1]))
    assert (apart.first, apart.last, apart.changes, apart.leads_at_end) == (None, None, 0, True)
    assert crossover(curve(x, [1, 1, 1, 1]), curve(x, [1, 1, 1, 1])).leads_at_end is None


def test_crossover_ties_and_falling_and_unequal_snapshots():
    x = [1, 10, 100, 1000]
    assert crossover(curve(x, [0, 1, 1, 2]), curve(x, [1, 1, 1, 1])).first == pytest.approx(100)
    assert crossover(curve(x, [0, 1, 0, 0]), curve(x, [1, 1, 1, 1])).changes == 0
    assert crossover(curve(x, [4, 3, 2, 1]), curve(x, [2, 2, 2, 2]), falling=True).leads_at_end is True
    moved = crossover(curve([2, 200], [0, 2]), curve([1, 20, 400], [1, 1, 1]))
    assert moved.first == pytest.approx(20)


@pytest.mark.parametrize("seed", range(6))
def test_first_crossing_in_log_log_is_brute_force(seed):
    rng = np.random.default_rng(seed)
    x = np.cumsum(rng.uniform(1, 50, 12)) * 1000
    recorded = curve(x, 300 * x**-0.5 * np.exp(rng.normal(0, 0.2, 12)))
    levels = fitted(-np.log(recorded.y))
    wanted = math.exp(-(levels[0] + levels[-1]) / 2)
    walked = walk_to(x, -np.log(recorded.y), -math.log(wanted))
    found = first_crossing(recorded, wanted, falling=True, logarithmic=True)
    assert found.kind == "reached" and found.budget == pytest.approx(walked, rel=1e-4)


def test_a_segment_that_ends_below_zero_is_linear_in_the_value():
    assert first_crossing(curve([1, 100], [0.3, -0.1]), 0.1, True, True).budget == pytest.approx(10)


def test_crossover_of_power_laws_is_where_they_meet():
    x = np.asarray(SNAPSHOTS, float)
    ours, theirs = curve(x, 40 * x**-0.6), curve(x, 8 * x**-0.4)
    assert crossover(ours, theirs, True, True).first == pytest.approx(5**5)  # 40/8 = t^0.2
    assert crossover(curve(x, ours.y - 0.1), theirs, True, True).leads_at_end is True


def test_ratio_and_budget_of_power_laws_are_exact_on_every_axis(power_laws):
    (pair,) = comparisons(power_laws)
    _, first, second, _, last = automatic_thresholds(power_laws, EXCESS_LOSS)
    assert crossings(power_laws.arms[0], first, "tokens")[0].budget == pytest.approx((20 / 0.5) ** 2)
    for threshold in (first, second):
        ratio = mean_budget_ratio(pair, threshold, "tokens")
        assert not isinstance(ratio, Missing) and (ratio.mean, ratio.n) == (pytest.approx(4), 3)
    assert mean_budget_ratio(pair, first, "targets").mean == pytest.approx(4 * 0.15 / 0.99)
    assert "3 of 3 seeds censored" in str(mean_budget_ratio(pair, last, "tokens"))


def test_budget_ratio_of_a_grid_is_what_its_curves_say(builder):
    """A saturating curve that is twice as slow needs twice the budget; on snapshots, up to interpolation."""
    for seed in range(3):
        builder.run(replace(CLM, quantities={"word_swap/accuracy": rising(0.5, 0.9, 10_000)}), seed)
        builder.run(replace(MLM, quantities={"word_swap/accuracy": rising(0.5, 0.9, 20_000)}), seed)
    results = read_results(builder.finish())
    clm, mlm = results.arms
    ratio = mean_budget_ratio(compare(mlm, clm), Threshold(WORD_SWAP, 0.7, ""), "tokens")
    assert not isinstance(ratio, Missing) and ratio.n == 3
    assert ratio.mean == pytest.approx(2, rel=0.05)
    per_target = mean_budget_ratio(compare(mlm, clm), Threshold(WORD_SWAP, 0.7, ""), "targets")
    assert not isinstance(per_target, Missing)
    assert per_target.mean == pytest.approx(ratio.mean * 0.15 / 0.99, rel=1e-3)


def test_own_loss_has_no_ratio_between_objectives(pair_grid):
    clm, mlm = read_results(pair_grid).arms
    ratio = mean_budget_ratio(compare(mlm, clm), Threshold(declaration("validation/loss"), 6.0, ""), "tokens")
    assert "different questions" in str(ratio)


def test_means_leave_out_unfinished_runs_whether_they_crossed_or_not(tmp_path):
    builder = GridBuilder(tmp_path / "g")
    plan = replace(CLM, quantities={"word_swap/accuracy": rising(0.5, 0.9, 5_000)})
    builder.run(plan, 0)
    builder.run(plan, 1, tokens=50_000, state="interrupted")
    builder.run(plan, 2, tokens=2_000, state="interrupted")
    (arm,) = read_results(builder.finish()).arms
    threshold = Threshold(WORD_SWAP, 0.7, "")
    assert {s: c.kind for s, c in crossings(arm, threshold, "tokens").items()} == {
        0: "reached",
        1: "reached",
        2: "unfinished",
    }
    assert set(counted_crossings(arm, threshold, "tokens")) == {0}
