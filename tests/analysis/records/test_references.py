from dataclasses import replace

import pytest

from analysis.records.read_results import read_results
from analysis.statistics.compare import comparisons
from tests.support.effects import crossed_grid
from tests.support.grids import CLM, MLM, PREFIX, masked, minimal


def names(results):
    return [pair.names for pair in comparisons(results)]


def test_arms_are_compared_along_the_axis_of_objectives_within_equal_levels_of_the_others(builder):
    assert names(crossed_grid(builder, rates=(0.001, 0.003))) == [
        f"({rate}; {width}; mlm) − ({rate}; {width}; clm)" for rate in (0.001, 0.003) for width in (64, 128)
    ]


@pytest.mark.parametrize("reference", ["mlm", "0.001; 64; mlm"])
def test_a_grid_may_name_an_arm_or_its_level(reference, builder):
    found = names(crossed_grid(builder, rates=(0.001, 0.003), widths=(64,), reference=reference))
    assert found == ["(0.001; 64; clm) − (0.001; 64; mlm)", "(0.003; 64; clm) − (0.003; 64; mlm)"]


def test_a_level_decides_along_which_axis_arms_are_compared(builder):
    found = names(crossed_grid(builder, rates=(0.001, 0.003), widths=(64,), reference="0.003"))
    assert found == ["(0.001; 64; clm) − (0.003; 64; clm)", "(0.001; 64; mlm) − (0.003; 64; mlm)"]


def test_without_a_causal_arm_the_first_is_the_reference(builder):
    for plan in (masked(0.3, arm="30"), replace(MLM, arm="15"), PREFIX):
        builder.run(replace(minimal(plan), factors={"arm": plan.arm}), 0)
    assert names(read_results(builder.finish())) == ["15 − 30", "prefix, half − 30"]


def test_a_single_arm_is_compared_with_none(builder):
    builder.run(minimal(PREFIX), 0)
    assert names(read_results(builder.finish())) == []


def test_single_runs_without_axes_are_all_compared_with_the_first_causal_one(builder):
    for plan in (MLM, PREFIX, CLM):
        builder.run(replace(minimal(plan), factors={}), 0)
    assert names(read_results(builder.finish())) == ["mlm − clm", "prefix, half − clm"]


def test_who_is_causal_comes_from_attention_and_not_from_names(builder):
    causal = replace(CLM, arm="r", objective="RightToLeft", factors={"objective": "r"})
    for plan in (MLM, replace(CLM, objective="LeftToRight"), PREFIX, causal):
        builder.run(minimal(plan), 0)
    assert names(read_results(builder.finish())) == ["mlm − clm", "prefix, half − clm", "r − clm"]
