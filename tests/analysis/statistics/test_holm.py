"""Of many comparisons none may be claimed wrongly, or only rarely: by brute force, and in reports of null grids."""

import random
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from analysis.records.read_results import read_results
from analysis.sections.summary import UNCORRECTED, summarise
from analysis.statistics.group_comparisons import compare_within
from analysis.statistics.holm import holm
from analysis.statistics.intervals import Measured, interval_of, log_interval, t_interval
from tests.support.grids import CLM, GridBuilder


@pytest.mark.parametrize("seed", range(5))
def test_holm_is_its_step_down_rule(seed):
    """Reject the smallest p while it is at most alpha over the number of those left, then stop."""
    draw = random.Random(seed)
    p_values = {name: draw.random() ** 3 / 4 for name in range(12)}
    adjusted = holm(p_values)
    for alpha in (0.001, 0.01, 0.05, 0.2, 0.9):
        rejected = set()
        for left, name in zip(range(12, 0, -1), sorted(p_values, key=p_values.get), strict=True):
            if p_values[name] > alpha / left:
                break
            rejected.add(name)
        assert {name for name, p in adjusted.items() if p <= alpha} == rejected
    assert holm({}) == {}


@pytest.mark.parametrize("errors", [(0.0, 0.0, 0.0), (0.02, 0.03, 0.02)])
def test_a_p_value_is_where_the_interval_begins_to_hold_the_null(errors):
    found = t_interval([0.05, 0.09, 0.02], errors)
    assert found.p_value(found.low) == pytest.approx(0.05, abs=1e-6)
    assert found.p_value(found.high) == pytest.approx(0.05, abs=1e-6)
    assert found.p_value(found.mean) == pytest.approx(1)
    assert found.p_value(found.low - 0.01) < 0.05 < found.p_value(found.low + 0.01)
    if not any(errors):
        assert found.p_value(0) == pytest.approx(stats.ttest_1samp([0.05, 0.09, 0.02], 0).pvalue, abs=1e-9)


def test_p_values_of_ratios_are_those_of_their_logs_and_of_differences_use_their_parts():
    ratios = [1.5, 2.0, 1.8, 2.2]
    assert log_interval(ratios).p_value(1) == pytest.approx(t_interval(np.log(ratios)).p_value(0))
    luck = np.linspace(-0.01, 0.01, 20)
    arms = [
        {seed: Measured(0.6 + at + 0.01 * seed**at, 0.05, tuple(luck * (1 + at))) for seed in range(3)} for at in (0, 1)
    ]
    found = interval_of(arms[1][seed] - arms[0][seed] for seed in range(3))
    assert found.item_degrees == 19 and found.p_value(found.low) == pytest.approx(0.05, abs=1e-6)
    assert t_interval([0.3]).p_value(0) == t_interval([0.3, 0.3]).p_value(0) == 1


def test_the_seeds_that_would_settle_a_difference():
    undecided = t_interval([0.01, 0.05, -0.02, 0.04])
    needed = undecided.seeds_to_exclude(0)
    assert not undecided.excludes(0) and needed > 4
    for n in (needed - 1, needed):  # samples of that size with the same mean and spread
        sample = np.asarray([(-1) ** i for i in range(n)], float)
        sample = (sample - sample.mean()) / sample.std(ddof=1) * undecided.spread + undecided.mean
        assert t_interval(sample).excludes(0) == (n == needed)
    assert t_interval([0.01, 0.05, -0.02, 0.04], [0.5] * 4).seeds_to_exclude(0) is None, "the items are too few"
    assert t_interval([0.1, 0.11, 0.12]).seeds_to_exclude(0) == 3


def towards(ends, start):
    """The course of seeds that end anywhere, however their arm is called."""
    return lambda tokens, seed: start + (ends[seed] - start) * tokens / (tokens + 9e3)


@pytest.mark.slow
def test_summaries_of_null_grids_rarely_claim_anything_after_the_correction(tmp_path):
    """Six equal arms of three seeds, three metrics, ratios of budgets: through the store and the summary."""
    plain = corrected = 0
    count = 40
    for grid in range(count):
        draw = np.random.default_rng(grid)
        builder = GridBuilder(tmp_path / f"{grid}")
        for arm in range(6):
            starts = {"word_swap/accuracy": 0.5, "probe/a/accuracy": 0.3, "probe/b/accuracy": 0.3}
            quantities = {name: towards(draw.normal(0.7, 0.02, 3), start) for name, start in starts.items()}
            for seed in range(3):
                builder.run(replace(CLM, arm=f"arm {arm}", factors={"arm": f"arm {arm}"}, quantities=quantities), seed)
        results = read_results(builder.finish())
        groups = [compare_within(group, []) for group in results.data_groups]
        said = [line for line in summarise(results, groups, "tokens") if "arms against" in line]
        assert len(said) == 6
        claims = [part for line in said for part in line.split(". ") if part.startswith(("Ahead", "Behind", "Needs"))]
        plain += bool(claims)
        corrected += any(name.count(UNCORRECTED) == 0 for part in claims for name in part.split("; "))
    assert plain > count / 3
    assert corrected <= 5
