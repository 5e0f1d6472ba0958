from dataclasses import replace

from analysis.records.read_results import read_results
from analysis.records.run_records import Missing
from analysis.sections.compose import compose
from analysis.statistics.compare import compare, comparisons
from analysis.statistics.convergence import mean_budget_ratio
from analysis.statistics.thresholds import Threshold
from tests.support.declarations import declaration
from tests.support.grids import CLM, MLM, PREFIX, GridBuilder, on_text, write_pair

WORD_SWAP = declaration("word_swap/accuracy")


def test_refused_pair_has_no_statistics_and_the_report_says_so(builder):
    builder.run(on_text(CLM, 8_000), 0)
    builder.run(on_text(replace(MLM, pairing={"data": "other"}), 30_000), 0)
    clm, mlm = read_results(builder.finish()).arms
    refused = compare(mlm, clm)
    assert str(refused.difference(WORD_SWAP)) == "missing (refused: not paired)"
    assert isinstance(mean_budget_ratio(refused, Threshold(WORD_SWAP, 0.6, ""), "tokens"), Missing)
    document = compose(read_results(builder.directory), [], "tokens", True)
    assert any("Refused" in alert and "packed data of mlm-s0 and clm-s0" in alert for alert in document.alerts)
    assert any("refused" in line for line in document.summary)
    assert not any("ahead" in line for line in document.summary)


def test_nothing_is_compared_across_data_groups_and_nothing_refused(two_data_groups):
    pairs = comparisons(read_results(two_data_groups))
    assert [(pair.arm.runs[0].corpus, pair.reference.runs[0].corpus) for pair in pairs] == [
        ("HiddenMarkov", "HiddenMarkov"),
        ("KingJames", "KingJames"),
    ]
    assert all(pair.refusal is None and pair.seeds == (0, 1, 2) for pair in pairs)


def test_pair_grid_has_the_slower_arm_behind(tmp_path):
    results = read_results(write_pair(GridBuilder(tmp_path / "g"), seeds=2))
    clm, mlm = results.arms
    assert compare(mlm, clm).verdict(declaration("probe/books/accuracy")) == "clm is ahead"


def test_who_is_causal_comes_from_attention_and_not_from_names(builder):
    causal = replace(CLM, arm="r", objective="RightToLeft", factors={"objective": "r"})
    for plan in (MLM, replace(CLM, objective="LeftToRight"), PREFIX, causal):
        builder.run(on_text(plan, 8_000), 0)
    results = read_results(builder.finish())
    assert [c.names for c in comparisons(results)] == ["mlm − clm", "prefix, half − clm", "r − clm"]
