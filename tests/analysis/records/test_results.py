from dataclasses import replace

from analysis.records.read_results import read_results
from tests.support.grids import CLM, constant, on_text


def test_probe_with_a_huge_majority_is_judged_by_f1(builder):
    plan = on_text(CLM, 8_000)
    builder.run(replace(plan, quantities={**plan.quantities, "probe/books/majority_accuracy": constant(0.9)}), 0)
    assert read_results(builder.finish()).main_metrics == ["probe/books/macro_f1", "word_swap/accuracy"]
