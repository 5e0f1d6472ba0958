from dataclasses import replace

import pytest

from analysis.records.quantities import EXCESS_LOSS
from analysis.records.read_results import read_results
from analysis.statistics.bayes_accuracy import CONTEXTS
from analysis.statistics.compare import comparisons
from analysis.statistics.intervals import paired_difference, t_interval
from analysis.tables.bayes_loss import bayes_loss_table
from tests.support.grids import CLM, STATES_ACCURACY, falling, on_known_rules, rising


def test_table_has_bayes_loss_excess_loss_and_probes_beside_their_bayes_accuracies(known_rules):
    clm, mlm = known_rules.arms
    table = bayes_loss_table(known_rules, comparisons(known_rules))
    first, second = ([*row] for row in table.rows)
    assert [row[3] for row in (first, second)] == pytest.approx([3.4, 2.9])
    for arm, row in ((clm, first), (mlm, second)):
        assert row[2] == t_interval(arm.final_scores("validation/loss").values())
        assert row[4] == t_interval(arm.final_scores(EXCESS_LOSS).values())
        assert row[5] == t_interval(arm.final_scores(STATES_ACCURACY).values())
        assert row[6:9] == pytest.approx([0.57, 0.80, 0.91])
    assert table.header[6:9] == [f"Bayes accuracy, {words}" for words in CONTEXTS.values()]
    assert first[9] == "no reference"
    assert second[9] == paired_difference(mlm.final_scores(STATES_ACCURACY), clm.final_scores(STATES_ACCURACY))
    assert (first[10], second[10]) == (
        "below the best that a causal model can reach",
        "above what any causal model can reach",
    )


def test_table_without_a_probe_and_without_a_finished_run(builder):
    plan = on_known_rules(CLM, falling(20), 3.4, rising(0.5, 0.78, 2_000))
    quantities = {q: course for q, course in plan.quantities.items() if q.startswith("validation")}
    builder.run(replace(plan, quantities=quantities), 0, tokens=5_000, state="interrupted")
    (row,) = bayes_loss_table(read_results(builder.finish()), []).rows
    assert len(row) == 5 and all("resumable at 5,000" in str(value) for value in row[2:])
