"""From what metrics declare and record to the intervals of a report."""

from dataclasses import replace

import numpy as np
import pytest

from analysis.records.read_results import read_results
from analysis.statistics.compare import compare, mean_final_score
from analysis.statistics.convergence import crossings, first_crossing
from analysis.statistics.curves import curves_by_seed, mean_curve
from analysis.statistics.intervals import Measured
from analysis.statistics.item_errors import final_scores, item_errors, lacks_item_errors, lacks_parts
from analysis.statistics.thresholds import Threshold
from experiments.records.quantities import Quantity
from tests.support.grids import CLM, MLM, SNAPSHOTS, constant, curve, record_parts

SCORE = Quantity("my/score", "score", "share", "higher", "all", standard_error="my/error")
DECLARED = (SCORE, Quantity("my/error", "standard error", "share"))


def two_arms(builder, clm, mlm, error=0.02, declared=DECLARED):
    for seed in range(3):
        for plan, value, step in ((CLM, clm, 0.001), (MLM, mlm, 0.0012)):
            quantities = {"my/score": lambda t, s, v=value, d=step: v + d * s, "my/error": constant(error)}
            builder.run(replace(plan, quantities=quantities, declared=declared), seed)
    return read_results(builder.finish())


def test_known_rules_without_the_luck_of_the_blocks_were_twenty_half_widths_off(builder):
    """Three seeds that agree to 0.0001 on the same blocks, whose standard error is 0.0021."""
    results = two_arms(builder, 0.0354, 0.0454, error=0.0021)
    interval = mean_final_score(results.arms[0], SCORE)
    assert interval.low < 0.0399 < interval.high
    assert interval.high - interval.mean > 1.96 * 0.0021
    assert final_scores(results.arms[0], SCORE)[1] == Measured(pytest.approx(0.0364), 0.0021)


def test_a_difference_within_the_luck_of_the_items_is_not_distinguishable(builder):
    clm, mlm = two_arms(builder, 0.70, 0.75).arms
    pair = compare(mlm, clm)
    assert pair.difference(SCORE).mean == pytest.approx(0.0502)
    assert pair.verdict(SCORE) == "not distinguishable"


def test_it_is_where_what_both_arms_share_of_the_luck_is_known_to_cancel(builder):
    results = two_arms(builder, 0.70, 0.75)
    luck = np.random.default_rng(1).normal(0, 0.005, 20)
    for run in results.runs:
        own = np.random.default_rng([2, run.seed, run.objective == "CLM"]).normal(0, 0.0002, 20)
        record_parts(run.directory, {"my/score": luck + own - (luck + own).mean()})
    clm, mlm = read_results(builder.directory).arms
    pair = compare(mlm, clm)
    assert pair.verdict(SCORE) == "mlm is ahead" and not lacks_parts((clm, mlm), SCORE)
    assert mean_final_score(mlm, SCORE).high > 0.75 + 1.96 * 0.02


def test_what_declares_no_standard_error_is_named_as_covering_seeds_alone(builder):
    with_errors = two_arms(builder, 0.7, 0.8).arms
    assert not lacks_item_errors(with_errors, SCORE)
    bare = replace(SCORE, name="my/bare", standard_error="")
    builder.run(replace(CLM, arm="bare", quantities={"my/bare": constant(0.5)}, declared=(bare,)), 0)
    arms = read_results(builder.finish()).arms
    assert lacks_item_errors(arms, bare) and item_errors(arms[-1].runs[0], bare).tolist() == [0.0] * len(SNAPSHOTS)


def test_a_standard_error_counts_where_its_score_was_recorded(builder):
    quantities = {"my/score": constant(0.7), "my/error": lambda t, s: float("nan") if t == 5_000 else t * 1e-6}
    builder.run(replace(CLM, quantities=quantities, declared=DECLARED), 0)
    (arm,) = read_results(builder.finish()).arms
    expected = [0.0 if tokens == 5_000 else tokens * 1e-6 for tokens in SNAPSHOTS]
    assert item_errors(arm.runs[0], SCORE).tolist() == pytest.approx(expected)


@pytest.mark.parametrize("logarithmic", [False, True])
def test_the_shade_of_a_mean_curve_holds_the_luck_of_the_items(builder, logarithmic):
    (arm, _) = two_arms(builder, 0.5, 0.6).arms
    found = mean_curve(curves_by_seed(arm, SCORE, "tokens"), logarithmic)
    assert ((found.high - found.mean) > 1.95 * 0.02).all() and ((found.mean - found.low) > 1.85 * 0.02).all()


def test_a_crossing_is_as_uncertain_as_the_curve_is_flat_there():
    """score = 0.1 · log budget: an error of 0.01 moves the crossing by 0.1 in log budget."""
    x = np.geomspace(100, 10_000, 9)
    flat = replace(curve(x, 0.1 * np.log(x)), errors=np.full(9, 0.01))
    assert first_crossing(flat, 0.7).error == pytest.approx(0.1)
    steep = replace(curve(x, 0.2 * np.log(x)), errors=np.full(9, 0.01))
    assert first_crossing(steep, 1.4).error == pytest.approx(0.05)
    assert first_crossing(replace(flat, errors=np.zeros(9)), 0.7).error == 0


def test_a_crossing_near_the_end_of_a_curve_is_uncertain_by_the_side_that_is_known():
    x = np.geomspace(100, 10_000, 9)
    near = replace(curve(x, 0.1 * np.log(x)), errors=np.full(9, 0.01))
    assert first_crossing(near, 0.1 * np.log(9_900)).error == pytest.approx(0.1)
    anywhere = replace(near, errors=np.full(9, 9.0))
    found = first_crossing(anywhere, 0.1 * np.log(1_000))
    assert found.kind == "reached" and found.error == pytest.approx(np.log(10))


def test_budgets_carry_the_luck_of_the_items(builder):
    quantities = {"my/score": lambda t, s: 0.1 * np.log(t) + 0.001 * s, "my/error": constant(0.01)}
    for seed in range(3):
        builder.run(replace(CLM, quantities=quantities, declared=DECLARED), seed)
    (arm,) = read_results(builder.finish()).arms
    found = crossings(arm, Threshold(SCORE, 1.0, ""), "tokens")
    assert [one.error for one in found.values()] == pytest.approx([0.1] * 3, rel=0.01)
