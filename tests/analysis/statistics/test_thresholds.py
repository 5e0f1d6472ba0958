import math
from dataclasses import replace

import numpy as np
import pytest

from analysis.records.read_results import read_results
from analysis.records.run_records import Missing
from analysis.statistics.thresholds import automatic_thresholds, parse_threshold, representative
from tests.support.declarations import declaration
from tests.support.grids import CLM, SNAPSHOTS, constant, on_known_rules, rising

EXCESS_LOSS, WORD_SWAP = declaration("validation/excess_loss"), declaration("word_swap/accuracy")
BOOKS = declaration("probe/books/accuracy")


def test_thresholds_are_fractions_of_the_gain_over_chance(pair_grid):
    results = read_results(pair_grid)
    best = max(np.mean(list(arm.final_scores(WORD_SWAP).values())) for arm in results.arms)
    firsts = [[run.series["word_swap/accuracy"].values[0] for run in arm.runs] for arm in results.arms]
    start = max(0.5, *(np.mean(first) for first in firsts))
    found = automatic_thresholds(results, WORD_SWAP)
    assert [threshold.value for threshold in found] == pytest.approx(
        [start + f * (best - start) for f in (0.5, 0.75, 0.9)]
    )
    assert "the best first snapshot" in automatic_thresholds(results, declaration("probe/books/macro_f1"))[0].origin


def test_thresholds_start_at_chance_when_the_first_snapshot_is_below_it(builder):
    quantities = {"probe/books/accuracy": rising(0.2, 0.9, 9_000), "probe/books/majority_accuracy": constant(0.4)}
    builder.run(replace(CLM, quantities=quantities), 0)
    half, *_ = automatic_thresholds(read_results(builder.finish()), BOOKS)
    assert "from majority class (0.400) to clm" in half.origin


def test_no_threshold_when_nothing_is_learned_or_finished(builder):
    builder.run(replace(CLM, quantities={"word_swap/accuracy": constant(0.49)}), 0)
    results = read_results(builder.finish())
    assert "no arm ends above chance" in str(automatic_thresholds(results, WORD_SWAP))


@pytest.mark.parametrize("text", ["word_swap/accuracy", "=0.5", "a=b", "a=nan", ""])
def test_threshold_text_must_be_quantity_and_number(text):
    with pytest.raises(ValueError, match="QUANTITY=VALUE"):
        parse_threshold(text)


def test_threshold_text():
    assert parse_threshold("cloze/0.15/loss=3.5") == ("cloze/0.15/loss", 3.5)


def test_excess_thresholds_are_what_some_run_reached_after_its_first_snapshot(power_laws):
    found = automatic_thresholds(power_laws, EXCESS_LOSS)
    assert min(run.final_score(EXCESS_LOSS) for run in power_laws.runs) == pytest.approx(20 / math.sqrt(SNAPSHOTS[-1]))
    assert [threshold.value for threshold in found] == [1, 0.5, 0.2, 0.1, 0.05]
    assert representative(power_laws, found).value == 0.2  # seed 2 of MLM ends at 0.107


def test_no_excess_threshold_is_said(builder):
    builder.run(on_known_rules(CLM, constant(0.9), 3.4, rising(0.5, 0.78, 2_000)), 0)
    found = automatic_thresholds(read_results(builder.finish()), EXCESS_LOSS)
    assert isinstance(found, Missing) and "no run crosses any step" in str(found)
