from dataclasses import replace

import pytest

from analysis.records.read_results import read_results
from analysis.report import write_report
from analysis.sections.compose import compose
from analysis.sections.document import slugs
from experiments.records import durable, run_directory
from tests.support.grids import CLM, MLM, PREFIX, falling, in_language, minimal, on_known_rules, rising
from tests.support.pages import Page, read_table


@pytest.fixture(scope="module")
def report(two_data_groups, tmp_path_factory):
    return write_report(two_data_groups, tmp_path_factory.mktemp("out") / "report").parent


def test_unpaired_arms_of_one_data_group_are_still_refused(builder):
    builder.run(in_language(CLM, "English"), 0)
    builder.run(in_language(MLM, "English", pairing={"data": "other"}), 0)
    builder.run(in_language(CLM, "Chinese", corpus="PeoplesDaily"), 0)
    document = compose(read_results(builder.finish()), [], "tokens", True)
    refusal = "English: Refused: mlm and clm are not paired: packed data"
    assert any(alert.startswith(refusal) for alert in document.alerts)


def test_each_data_group_has_its_parts_under_its_own_names(report):
    figures = {path.stem for path in (report / "figures").glob("*.png")}
    assert {"overview", "curves-validation-excess_loss", "curves-probe-books-accuracy"} <= figures
    both = ("own-losses", "density", "final-scores", "budget-to-threshold", "budget-ratios")
    assert {f"{name}-{slug}" for name in both for slug in ("known-rules", "King-James")} <= figures
    assert not set(both) & figures and "curves-loss-at-common-mask-rates" in figures
    tables = {path.stem for path in (report / "tables").glob("*.csv")}
    assert {
        "levels_probe-states-accuracy",
        "levels_validation-loss",
        "published_objective",
        "runs",
        "budgets_known-rules",
        "budgets_King-James",
    } <= tables
    page = Page((report / "report.html").read_text())
    anchors = [attrs["id"] for _, attrs in page.tags if "id" in attrs]
    assert len(set(anchors)) == len(anchors)
    assert page.text.count("Published, not measured here") == 1
    for words in (
        "4 arms, on 2 data groups",
        "known rules: Excess loss (nats per target), less is better, at the end",
        "known rules: Own questions",
    ):
        assert words in page.text
    assert "refused" not in page.text.lower() and "different budgets" not in page.text


def test_budget_tables_have_the_arms_and_quantities_of_their_data_group(report):
    rules, text = (read_table(report / "tables" / f"budgets_{slug}.csv") for slug in ("known-rules", "King-James"))
    assert {row["quantity"] for row in rules} == {"excess loss (nats per target)", "states probe, accuracy"}
    assert {row["quantity"] for row in text} == {"books probe, accuracy", "word-swap accuracy"}
    assert all("missing (nothing recorded)" not in row.values() for row in rules + text)


def test_budgets_may_differ_between_data_groups_but_not_within(builder):
    for tokens, language, corpus in ((1_000, "English", "KingJames"), (2_000, "Chinese", "PeoplesDaily")):
        run = builder.run(in_language(CLM, language, corpus=corpus), 0)
        record = durable.read_json(run / run_directory.RUN)
        durable.write_json(run / run_directory.RUN, {**record, "budget_tokens": tokens})
    assert not compose(read_results(builder.finish()), [], "tokens", True).alerts
    builder.planned[1] |= {"factors": builder.planned[0]["factors"]}
    durable.write_json(run / run_directory.RUN, {**record, "budget_tokens": 2_000, "corpus": "KingJames"})
    document = compose(read_results(builder.finish()), [], "tokens", True)
    assert any("different budgets" in alert for alert in document.alerts)


def test_a_single_data_group_keeps_plain_names(builder):
    plan = replace(on_known_rules(CLM, falling(20), 3.4, rising(0.5, 0.78, 2_000)), arm="CLM", factors={"arm": "CLM"})
    builder.run(plan, 0)
    names = [drawing.name for drawing in compose(read_results(builder.finish()), [], "tokens", True).drawings]
    assert {"overview", "curves-validation-excess_loss", "curves-probe-states-accuracy", "own-losses"} <= set(names)


def test_slugs_differ_whatever_the_data_groups_are_called():
    assert slugs(["known rules", "known/rules", "人民日报", "///", "***"]) == [
        "known-rules",
        "known-rules-2",
        "人民日报",
        "data",
        "data-5",
    ]


def test_published_objectives_stand_beside_a_causal_and_a_bidirectional_arm(builder):
    builder.run(replace(minimal(CLM), objective="LeftToRight"), 0)
    builder.run(minimal(PREFIX), 0)
    document = compose(read_results(builder.finish()), [], "tokens", True)
    assert "published_objective" in [table.name for table in document.tables]


def test_causal_arms_alone_have_no_published_objectives(builder):
    builder.run(minimal(CLM), 0)
    document = compose(read_results(builder.finish()), [], "tokens", True)
    assert "published_objective" not in [table.name for table in document.tables]


def test_the_report_says_how_intervals_are_made_and_which_leave_out_the_items(builder):
    for seed in range(2):
        for plan in (CLM, MLM):
            builder.run(on_known_rules(plan, falling(20), 3.4, rising(0.5, 0.78, 2_000, 0.003)), seed)
    document = compose(read_results(builder.finish()), [], "tokens", True)
    (section,) = [one for one in document.sections if one.anchor == "intervals"]
    text = " ".join(section.text)
    assert "mean ± √((t · s/√n)² + (z · SE)²)" in text
    seeds_alone, lacking = section.text[-2:]
    assert "states probe, accuracy" in seeds_alone and "excess loss" not in seeds_alone
    assert "No parts are recorded of excess loss (nats per target)" in lacking
    assert "over n seeds and over the items" in " ".join(document.summary)
