from dataclasses import replace

import pytest

from analysis.records.read_results import read_results
from analysis.records.run_records import Missing
from analysis.statistics.bayes_accuracy import BayesAccuracies, bayes_accuracies, verdict_on_past
from analysis.statistics.intervals import Interval
from tests.support.grids import BAYES_ACCURACIES, CLM, STATES_ACCURACY, falling, on_known_rules, rising


def test_bayes_accuracies_are_of_probes_that_have_all_three(known_rules, builder):
    assert bayes_accuracies(known_rules) == [BayesAccuracies(STATES_ACCURACY, **BAYES_ACCURACIES)]
    plan = on_known_rules(CLM, falling(20), 3.4, rising(0.5, 0.78, 2_000))
    some = {q: course for q, course in plan.quantities.items() if q != "probe/states/bayes_accuracy_past"}
    builder.run(replace(plan, quantities=some), 0)
    assert bayes_accuracies(read_results(builder.finish())) == []


@pytest.mark.parametrize(
    ("score", "says"),
    [
        (Interval(0.85, 0.81, 0.89, 3), "above what any causal model can reach"),
        (Interval(0.82, 0.79, 0.85, 3), "not distinguishable from the best that a causal model can reach"),
        (Interval(0.70, 0.65, 0.79, 3), "below the best that a causal model can reach"),
        (Interval(0.85, None, None, 1), "one seed, no interval"),
        (Interval(0.85, 0.85, 0.85, 2), "the seeds agree exactly, so the interval has no width"),
        (Missing("why"), "missing (why)"),
    ],
)
def test_verdict_on_the_bayes_accuracy_from_the_past(known_rules, score, says):
    clm, mlm = known_rules.arms
    assert verdict_on_past(mlm, score, 0.8) == says
    if says.startswith("above"):
        assert "luck of the test blocks, or an error" in verdict_on_past(clm, score, 0.8)
