from dataclasses import replace

import numpy as np
import pytest

from analysis.figures import excess_loss as figures_calibrated
from analysis.figures.style import save, style
from analysis.records.quantities import EXCESS
from analysis.records.results import load
from analysis.records.run_records import Missing
from analysis.sections.bayes_summary import best_possible as in_words
from analysis.statistics.bayes_accuracy import VIEWS, Ceilings, ceilings, reading
from analysis.statistics.compare import comparisons
from analysis.statistics.intervals import Interval, paired_difference, t_interval
from analysis.tables.bayes_loss import best_possible
from tests.support.grids import CEILINGS, CLM, MLM, falling, known_rules, rising, yardsticks

STATES = "probe/states/accuracy"


@pytest.fixture(scope="module")
def rules(two_languages):
    return load(two_languages).families[0]


def test_ceilings_are_of_accuracies_that_have_all_three(rules, builder):
    assert ceilings(rules) == [Ceilings(STATES, **CEILINGS)]
    plan = known_rules(CLM, falling(20), 3.4, rising(0.5, 0.78, 2_000))
    some = {q: curve for q, curve in plan.curves.items() if q != "probe/states/bayes_accuracy_past"}
    builder.run(replace(plan, curves=some), 0)
    assert ceilings(load(builder.finish())) == []


@pytest.mark.parametrize(
    ("score", "says"),
    [
        (Interval(0.85, 0.81, 0.89, 3), "above what any causal model can reach"),
        (Interval(0.82, 0.79, 0.85, 3), "not distinguishable from the best that a causal model can reach"),
        (Interval(0.70, 0.65, 0.79, 3), "below what a causal model can reach at best"),
        (Interval(0.85, None, None, 1), "one seed, no interval"),
        (Interval(0.85, 0.85, 0.85, 2), "the seeds agree exactly, which gives no interval"),
        (Missing("why"), "missing (why)"),
    ],
)
def test_reading_beside_the_ceiling_of_causal_models(rules, score, says):
    clm, mlm = rules.arms
    assert reading(mlm, score, 0.8) == says
    if says.startswith("above"):
        assert "luck of the test blocks, or an error" in reading(clm, score, 0.8)


def test_table_has_floor_excess_and_probe_beside_its_ceilings(rules):
    clm, mlm = rules.arms
    table = best_possible(rules, comparisons(rules))
    first, second = ([*row] for row in table.rows)
    assert [row[3] for row in (first, second)] == pytest.approx([3.4, 2.9])
    for arm, row in ((clm, first), (mlm, second)):
        assert row[2] == t_interval(arm.finals("validation/loss").values())
        assert row[4] == t_interval(arm.finals(EXCESS).values())
        assert row[5] == t_interval(arm.finals(STATES).values())
        assert row[6:9] == pytest.approx([0.57, 0.80, 0.91])
    assert table.header[6:9] == list(VIEWS.values())
    assert first[9] == "no reference"
    assert second[9] == paired_difference(mlm.finals(STATES), clm.finals(STATES))
    assert (first[10], second[10]) == (
        "below what a causal model can reach at best",
        "above what any causal model can reach",
    )


def test_table_without_a_probe_and_without_a_finished_run(builder):
    plan = known_rules(CLM, falling(20), 3.4, rising(0.5, 0.78, 2_000))
    curves = {q: curve for q, curve in plan.curves.items() if q.startswith("validation")}
    builder.run(replace(plan, curves=curves), 0, tokens=5_000, state="interrupted")
    (row,) = best_possible(load(builder.finish()), []).rows
    assert len(row) == 5 and all("resumable at 5,000" in str(cell) for cell in row[2:])


def test_summary_says_it_from_the_numbers(rules):
    excess, probe = in_words(rules)
    clm, mlm = (t_interval(arm.finals(EXCESS).values()) for arm in rules.arms)
    assert f"clm {clm.mean:.3f} [{clm.low:.3f}, {clm.high:.3f}] (n = 3); mlm {mlm.mean:.3f} [" in excess
    assert "(n = 3), below what a causal model" in probe and "(n = 3), above what any causal model" in probe
    assert "0.570 from the token alone, 0.800 from the past" in probe and "0.910 from both sides" in probe


def test_nothing_is_said_or_drawn_of_plain_text(builder):
    builder.run(yardsticks(MLM, 8_000), 0)
    grid = load(builder.finish())
    assert in_words(grid) == [] and ceilings(grid) == []
    with style():
        assert figures_calibrated.excess(grid) is None and figures_calibrated.calibrated(grid, True) is None


def test_figures_are_log_log_and_name_the_ceilings_outside_the_frame(rules, tmp_path):
    with style():
        drawing = figures_calibrated.calibrated(rules, True)
        assert drawing is not None
        left, right = drawing.figure.axes
        assert (left.get_xscale(), left.get_yscale()) == ("log", "log")
        levels = [line for line in right.lines if len(set(np.atleast_1d(line.get_ydata()))) == 1]
        assert [line.get_ydata()[0] for line in levels[-3:]] == list(CEILINGS.values())
        save(drawing, tmp_path)
        frame, (legend,) = right.get_window_extent(), drawing.figure.legends
        assert [" ".join(text.get_text().split()) for text in right.texts] == list(VIEWS.values())
        boxes = [text.get_window_extent() for text in right.texts]
        assert all(box.x1 <= drawing.figure.bbox.x1 for box in boxes)
        assert all(text.xyann[0] > 1 for text in right.texts)
        assert not any(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[i + 1 :])
        assert not legend.get_window_extent().overlaps(frame)


def test_excess_has_a_panel_for_tokens_and_one_for_targets(rules):
    with style():
        drawing = figures_calibrated.excess(rules)
    assert drawing is not None
    assert [ax.get_xlabel() for ax in drawing.figure.axes] == ["tokens read", "supervised tokens"]
    thick = [line for line in drawing.figure.axes[0].lines if line.get_linewidth() > 1]
    expected = np.prod([falling(20)(200_000, seed) for seed in range(3)]) ** (1 / 3)
    assert thick[0].get_ydata()[-1] == pytest.approx(expected)
