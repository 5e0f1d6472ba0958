from dataclasses import replace

from analysis.records.factors import context_of, held_equal, varying_factors
from analysis.records.read_results import read_results
from tests.support.effects import crossed_grid
from tests.support.grids import CLM, masked, minimal


def by_name(results):
    return {factor.name: factor for factor in varying_factors(results)}


def axis_of_arms(builder, *plans):
    for plan in plans:
        builder.run(replace(minimal(plan), factors={"arm": plan.arm}), 0)
    return read_results(builder.finish())


def test_axes_are_numeric_when_every_level_is_a_number(builder):
    found = by_name(crossed_grid(builder))
    assert [(name, factor.numeric) for name, factor in found.items()] == [
        ("learning rate", True),
        ("width", True),
        ("arm", False),
    ]
    assert found["width"].levels == [64, 128] and found["arm"].levels == ["clm", "mlm"]
    assert found["learning rate"].text(0.001) == "0.001"


def test_a_trait_and_an_axis_that_part_arms_alike_count_once(builder):
    (factor,) = varying_factors(axis_of_arms(builder, masked(0.3, arm="a"), masked(0.15, arm="b")))
    assert (factor.name, factor.numeric, factor.is_axis) == ("mask rate", True, True)
    assert factor.levels == [0.15, 0.3] and factor.text(0.15) == "15 %"


def test_arms_with_other_objectives_leave_the_axis_a_factor_of_its_own(builder):
    found = by_name(axis_of_arms(builder, CLM, masked(0.15, arm="a"), masked(0.3, arm="b")))
    assert list(found) == ["arm", "mask rate"] and not found["mask rate"].is_axis


def test_what_is_held_equal_leaves_the_factor_free(builder):
    plans = (masked(0.15, arm="a"), masked(0.3, arm="b"), masked(0.15, "100/0/0", arm="c"), CLM)
    results = axis_of_arms(builder, *plans)
    factors = varying_factors(results)
    arm, rate, mix = factors
    assert [factor.name for factor in factors] == ["arm", "mask rate", "corruption mix"]
    assert (held_equal(factors, arm), held_equal(factors, rate), held_equal(factors, mix)) == ([], [mix], [rate])
    assert context_of(results.arms[2], [mix], results.arms[:3]) == "100/0/0"


def test_data_is_no_factor(two_data_groups):
    assert [list(by_name(group)) for group in read_results(two_data_groups).data_groups] == [["arm"], ["arm"]]
