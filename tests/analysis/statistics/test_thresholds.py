from dataclasses import replace

import numpy as np
import pytest

from analysis.records.results import load
from analysis.records.run_records import Missing
from analysis.statistics.compare import compare
from analysis.statistics.convergence import (
    counted,
    crossings,
)
from analysis.statistics.thresholds import Threshold, parse_threshold, thresholds
from analysis.tables.convergence import ratio_cell
from tests.support.grids import CLM, MLM, GridBuilder, rising, write_pair


def test_thresholds_are_fractions_of_the_gain_over_chance(pair_grid):
    grid = load(pair_grid)
    best = max(np.mean(list(arm.finals("word_swap/accuracy").values())) for arm in grid.arms)
    firsts = [[c.series["word_swap/accuracy"].values[0] for c in arm.cells] for arm in grid.arms]
    start = max(0.5, *(np.mean(first) for first in firsts))
    found = thresholds(grid, "word_swap/accuracy")
    assert [goal.value for goal in found] == pytest.approx([start + f * (best - start) for f in (0.5, 0.75, 0.9)])
    assert "the best first snapshot" in thresholds(grid, "probe/books/macro_f1")[0].origin


def test_thresholds_start_at_chance_when_the_first_snapshot_is_below_it(builder):
    curves = {"probe/books/accuracy": rising(0.2, 0.9, 9_000), "probe/books/majority_accuracy": lambda t, s: 0.4}
    builder.run(replace(CLM, curves=curves), 0)
    half, *_ = thresholds(load(builder.finish()), "probe/books/accuracy")
    assert "from the majority class (0.400) to clm" in half.origin


def test_no_threshold_when_nothing_is_learned_or_finished(builder):
    builder.run(replace(CLM, curves={"word_swap/accuracy": lambda t, s: 0.49}), 0)
    grid = load(builder.finish())
    assert "no arm ends above chance" in str(thresholds(grid, "word_swap/accuracy"))


def test_budget_ratio_of_a_grid_is_what_its_curves_say(builder):
    """A saturating curve that is twice as slow needs twice the budget; on snapshots, up to interpolation."""
    for seed in range(3):
        builder.run(replace(CLM, curves={"word_swap/accuracy": rising(0.5, 0.9, 10_000)}), seed)
        builder.run(replace(MLM, curves={"word_swap/accuracy": rising(0.5, 0.9, 20_000)}), seed)
    grid = load(builder.finish())
    clm, mlm = grid.arms
    cell = ratio_cell(compare(mlm, clm), Threshold("word_swap/accuracy", 0.7, ""), "tokens")
    assert not isinstance(cell, Missing) and cell.n == 3
    assert cell.mean == pytest.approx(2, rel=0.05)
    per_target = ratio_cell(compare(mlm, clm), Threshold("word_swap/accuracy", 0.7, ""), "targets")
    assert not isinstance(per_target, Missing)
    assert per_target.mean == pytest.approx(cell.mean * 0.15 / 0.99, rel=1e-3)


def test_own_loss_has_no_ratio_between_objectives(pair_grid):
    clm, mlm = load(pair_grid).arms
    cell = ratio_cell(compare(mlm, clm), Threshold("validation/loss", 6.0, ""), "tokens")
    assert "different questions" in str(cell)


def test_means_leave_out_unfinished_runs_whether_they_crossed_or_not(tmp_path):
    builder = GridBuilder(tmp_path / "g")
    plan = replace(CLM, curves={"word_swap/accuracy": rising(0.5, 0.9, 5_000)})
    builder.run(plan, 0)
    builder.run(plan, 1, tokens=50_000, state="interrupted")
    builder.run(plan, 2, tokens=2_000, state="interrupted")
    (arm,) = load(builder.finish()).arms
    goal = Threshold("word_swap/accuracy", 0.7, "")
    assert {s: c.kind for s, c in crossings(arm, goal, "tokens").items()} == {
        0: "reached",
        1: "reached",
        2: "unfinished",
    }
    assert set(counted(arm, goal, "tokens")) == {0}


@pytest.mark.parametrize("text", ["word_swap/accuracy", "=0.5", "a=b", "a=nan", ""])
def test_threshold_text_must_be_quantity_and_number(text):
    with pytest.raises(ValueError, match="QUANTITY=VALUE"):
        parse_threshold(text)


def test_threshold_text():
    assert parse_threshold("cloze/0.15/loss=3.5") == ("cloze/0.15/loss", 3.5)


def test_pair_grid_has_the_slower_arm_behind(tmp_path):
    grid = load(write_pair(GridBuilder(tmp_path / "g"), seeds=2))
    clm, mlm = grid.arms
    assert compare(mlm, clm).verdict("probe/books/accuracy") == "clm is ahead"
