import math
from dataclasses import replace

import pytest

from analysis.records.factors import varying_factors
from analysis.records.read_results import read_results
from analysis.records.run_records import Missing
from analysis.statistics.factor_effects import best_setting, interactions, lines
from tests.support.declarations import declaration
from tests.support.effects import additive, crossed_grid
from tests.support.grids import masked, minimal

WORD_SWAP = declaration("word_swap/accuracy")
EXCESS_LOSS = declaration("validation/excess_loss")


def lines_by(group, name):
    factors = varying_factors(group)
    return lines(group, factors, next(factor for factor in factors if factor.name == name))


def test_a_line_holds_all_other_factors_equal(builder):
    group = crossed_grid(builder)
    assert [line.name for line in lines_by(group, "width")] == [
        f"learning rate {rate}; {arm}" for rate in (0.0003, 0.001, 0.003) for arm in ("clm", "mlm")
    ]
    (difference,) = [pair.difference(WORD_SWAP) for pair in lines_by(group, "width")[0].comparisons]
    assert difference.mean == pytest.approx(0.01, abs=0.002) and difference.n == 3


def test_best_setting_and_those_not_distinguishable_from_it(builder):
    def nearly(arm, rate, width):
        return 0.8 - 0.1 * (rate == 0.0003) - (0.0 if arm == "clm" else 0.2) * (rate == 0.003)

    group = crossed_grid(builder, nearly, widths=(64,))
    clm, mlm = (best_setting(line.arms, WORD_SWAP) for line in lines_by(group, "learning rate"))
    assert {clm.setting, *clm.alike} == {0.001, 0.003}
    assert (mlm.setting, mlm.alike, mlm.unknown) == (0.001, (), ())


def test_less_is_better_where_the_quantity_says_so(builder):
    group = crossed_grid(builder, lambda arm, rate, width: 0.5 + 100 * rate, quantity=EXCESS_LOSS.name)
    assert {best_setting(line.arms, EXCESS_LOSS).setting for line in lines_by(group, "learning rate")} == {0.0003}


def test_settings_without_scores_are_named_and_seeds_missing_anywhere_left_out(builder):
    def skip(arm, rate, width, seed):
        return rate == 0.003 or (rate == 0.001 and seed == 2)

    group = crossed_grid(builder, widths=(64,), skip=skip)
    best = best_setting(lines_by(group, "learning rate")[0].arms, WORD_SWAP)
    assert (best.setting, best.score.n, best.unknown) == (0.001, 2, (0.003,))


def test_no_best_setting_without_two_scores(builder):
    group = crossed_grid(builder, widths=(64,), tokens=5_000, state="interrupted")
    found = best_setting(lines_by(group, "learning rate")[0].arms, WORD_SWAP)
    assert isinstance(found, Missing) and "resumable at 5,000" in str(found)
    assert all(isinstance(one.difference(WORD_SWAP), Missing) for one in interactions(group, varying_factors(group)))


def test_one_seed_has_a_best_setting_without_an_interval(builder):
    group = crossed_grid(builder, seeds=1)
    best = best_setting(lines_by(group, "learning rate")[0].arms, WORD_SWAP)
    assert best.setting == 0.001 and best.score.low is None
    assert all(one.difference(WORD_SWAP).low is None for one in interactions(group, varying_factors(group)))


def test_effects_that_add_up_have_no_interaction(builder):
    group = crossed_grid(builder)
    found = interactions(group, varying_factors(group))
    assert {tuple(factor.name for factor in one.factors) for one in found} == {
        ("learning rate", "width"),
        ("learning rate", "arm"),
        ("width", "arm"),
    }
    assert len(found) == 2 * 2 + 2 * 2 + 3
    assert not any(one.difference(WORD_SWAP).excludes(0) for one in found)


def test_interactions_of_exactly_additive_effects_are_zero(builder):
    group = crossed_grid(builder, noise=0.0)
    for one in interactions(group, varying_factors(group)):
        assert one.difference(WORD_SWAP).mean == pytest.approx(0, abs=1e-12)


def test_a_built_in_interaction_is_found_where_it_is(builder):
    def effect(arm, rate, width):
        return additive(arm, rate, width) + 0.08 * (arm == "mlm" and rate == 0.003)

    group = crossed_grid(builder, effect)
    found = {(one.names, one.context): one.difference(WORD_SWAP) for one in interactions(group, varying_factors(group))}
    change = "(0.003 − 0.0003)"
    for width in (64, 128):
        difference = found[f"{change} at mlm − {change} at clm", f"width {width}"]
        assert difference.mean == pytest.approx(0.08, abs=0.004) and difference.excludes(0)
    for (names, _), difference in found.items():
        if change not in names or "at mlm" not in names:
            assert math.isclose(difference.mean, 0, abs_tol=0.004) and not difference.excludes(0)


def test_what_is_not_paired_is_refused(builder):
    group = crossed_grid(builder, pairing=lambda rate: {"data": "other"} if rate == 0.003 else {})
    line = lines_by(group, "learning rate")[0]
    assert str(best_setting(line.arms, WORD_SWAP)) == "missing (refused: not paired)"
    refused = [one for one in interactions(group, varying_factors(group)) if one.settings[0][0] == 0.003]
    assert refused and all(str(one.difference(WORD_SWAP)) == "missing (refused: not paired)" for one in refused)


def test_arms_that_nothing_recorded_tells_apart_are_not_compared(builder):
    for rate, name in ((0.15, "a"), (0.15, "b"), (0.3, "c")):
        builder.run(replace(minimal(masked(rate, arm=name)), factors={}), 0)
    group = read_results(builder.finish())
    assert lines_by(group, "mask rate") == []
