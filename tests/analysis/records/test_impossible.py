import math
from dataclasses import replace

import numpy as np
import pytest

from analysis.records.quantities import EXCESS, is_own_question, is_yardstick, label, lower_is_better, title
from analysis.records.results import load
from analysis.records.run_records import Missing
from analysis.report import main
from analysis.statistics.compare import comparisons
from analysis.statistics.convergence import crossings, crossover, first_crossing
from analysis.statistics.curves import Line, band
from analysis.statistics.thresholds import LADDER, telling, thresholds
from analysis.tables.convergence import ratio_cell
from tests.support.grids import CLM, MLM, SNAPSHOTS, falling, known_rules, rising


def line(x, y, seed=0, finished=True):
    return Line(seed, np.asarray(x, float), np.asarray(y, float), finished)


def calibrated(builder, seeds=3, mlm=40.0):
    for seed in range(seeds):
        builder.run(known_rules(CLM, falling(20), 3.4, rising(0.5, 0.78, 2_000)), seed)
        builder.run(known_rules(MLM, falling(mlm), 2.9, rising(0.5, 0.86, 4_000)), seed)
    return load(builder.finish())


def test_excess_is_a_yardstick_and_its_companions_are_not():
    assert is_yardstick(EXCESS) and lower_is_better(EXCESS) and not is_own_question(EXCESS)
    others = (
        "validation/excess_loss_standard_error",
        "validation/bayes_loss",
        "cloze/0.15/excess_loss",
        "probe/states/bayes_accuracy_past",
    )
    assert not any(map(is_yardstick, others))
    assert lower_is_better("cloze/0.15/excess_loss")
    assert (label(EXCESS), title(EXCESS)) == ("excess (nats per target)", "excess over the best possible loss")
    assert label("cloze/0.15/excess_loss") == "held-out excess (nats per target) at 15 % masked"


@pytest.mark.parametrize("seed", range(6))
def test_first_crossing_in_log_log_is_brute_force(seed):
    rng = np.random.default_rng(seed)
    x = np.cumsum(rng.uniform(1, 50, 12)) * 1000
    curve = line(x, 300 * x**-0.5 * np.exp(rng.normal(0, 0.2, 12)))
    best = np.minimum.accumulate(curve.y)
    goal = float(math.sqrt(best[0] * best[-1]))
    fine = np.geomspace(x[0], x[-1], 200_001)
    walked = fine[np.argmax(np.interp(np.log(fine), np.log(x), np.log(best)) <= math.log(goal))]
    found = first_crossing(curve, goal, falling=True, logarithmic=True)
    assert found.kind == "reached" and found.budget == pytest.approx(walked, rel=1e-4)


def test_a_segment_that_ends_below_zero_is_linear_in_the_value():
    assert first_crossing(line([1, 100], [0.3, -0.1]), 0.1, True, True).budget == pytest.approx(10)


def test_crossover_of_power_laws_is_where_they_meet():
    x = np.asarray(SNAPSHOTS, float)
    ours, theirs = line(x, 40 * x**-0.6), line(x, 8 * x**-0.4)
    assert crossover(ours, theirs, True, True).first == pytest.approx(5**5)  # 40/8 = t^0.2
    assert crossover(line(x, ours.y - 0.1), theirs, True, True).leads_at_end is True


def test_ladder_is_what_some_run_reached_after_its_first_snapshot(builder):
    grid = calibrated(builder)
    assert min(cell.final(EXCESS) for cell in grid.cells) == pytest.approx(20 / math.sqrt(SNAPSHOTS[-1]))
    assert [goal.value for goal in thresholds(grid, EXCESS)] == [0.5, 0.2, 0.1, 0.05]
    assert telling(grid, thresholds(grid, EXCESS)).value == 0.2  # seed 2 of MLM ends at 0.107


def test_no_rung_is_said(builder):
    builder.run(known_rules(CLM, lambda t, s: 0.9, 3.4, rising(0.5, 0.78, 2_000)), 0)
    found = thresholds(load(builder.finish()), EXCESS)
    assert isinstance(found, Missing) and f"any of {LADDER[0]:g}" in str(found)


def test_ratio_and_budget_of_power_laws_are_exact_on_every_axis(builder):
    grid = calibrated(builder)
    (pair,) = comparisons(grid)
    first = thresholds(grid, EXCESS)[0]
    assert crossings(grid.arms[0], first, "tokens")[0].budget == pytest.approx((20 / 0.5) ** 2)
    for goal in thresholds(grid, EXCESS)[:2]:
        cell = ratio_cell(pair, goal, "tokens")
        assert not isinstance(cell, Missing) and (cell.mean, cell.n) == (pytest.approx(4), 3)
    assert ratio_cell(pair, first, "targets").mean == pytest.approx(4 * 0.15 / 0.99)
    bound = ratio_cell(pair, thresholds(grid, EXCESS)[3], "tokens")
    assert "3 of 3 seeds censored" in str(bound)


def test_band_is_the_geometric_mean_and_leaves_a_gap_at_zero():
    found = band([line([1, 10, 100], [4, 2, 1]), line([1, 10, 100], [1, 0.5, -0.01], seed=1)], logarithmic=True)
    assert found is not None and found.mean[:2] == pytest.approx([2, 1]) and np.isnan(found.mean[2])
    half = 12.706204736 * math.log(4) / 2
    assert (found.low[0], found.high[0]) == pytest.approx((2 * math.exp(-half), 2 * math.exp(half)))


@pytest.mark.parametrize("quantity", ["validation/excess_loss", "cloze/0.3/excess_loss"])
def test_a_loss_below_the_best_possible_one_is_refused_loudly(builder, capsys, quantity):
    plan = known_rules(MLM, falling(20), 3.4, rising(0.5, 0.78, 2_000), error=0.02)
    impossible = {quantity: lambda t, s: -0.061 if t == 50_000 else 0.3}
    builder.run(plan, 0)
    builder.run(replace(plan, curves={**plan.curves, **impossible}), 1)
    assert main([str(builder.finish())]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and f"{quantity} of known rules, mlm-s1 at step 50 is -0.061 nats" in said
    assert "floor or the loss was computed wrongly" in said and not (builder.directory / "report").exists()


def test_within_three_standard_errors_it_is_noise_but_only_if_the_error_is_known(builder):
    plan = known_rules(CLM, lambda t, s: -0.059, 3.4, rising(0.5, 0.78, 2_000), error=0.02)
    builder.run(plan, 0)
    load(builder.finish())
    unknown = {q: curve for q, curve in plan.curves.items() if q != "validation/excess_loss_standard_error"}
    builder.run(replace(plan, curves=unknown), 1)
    with pytest.raises(ValueError, match="standard error was not recorded"):
        load(builder.finish())
