from dataclasses import replace

import pytest

from analysis.figures.overview import headline, overview
from analysis.figures.style import BLUE, VERMILION, looks, save, style
from analysis.records.data_groups import UNKNOWN, slugs
from analysis.records.quantities import EXCESS
from analysis.records.results import load
from analysis.report import write_report
from analysis.sections.compose import compose
from analysis.statistics.compare import comparisons
from tests.support.grids import CLM, MLM, falling, known_rules, rising, yardsticks
from tests.support.pages import Page, read, small

STATES = "probe/states/accuracy"


@pytest.fixture(scope="module")
def report(two_languages, tmp_path_factory):
    return write_report(two_languages, tmp_path_factory.mktemp("out") / "report").parent


def on(plan, language, **how):
    factors = {"language": language, "arm": plan.arm}
    return replace(plan, curves={}, factors=factors, arm=f"{language}, {plan.arm}", **how)


def test_arms_fall_into_families_named_by_what_is_left(two_languages):
    grid = load(two_languages)
    assert [(f.source, [arm.name for arm in f.arms]) for f in grid.families] == [
        ("known rules", ["clm", "mlm"]),
        ("King James", ["clm", "mlm"]),
    ]
    assert len(grid.arms) == 4 and all(f.families == [f] for f in grid.families)
    assert grid.families[1].quantities != grid.families[0].quantities


def test_nothing_is_compared_across_families_and_nothing_refused(two_languages):
    pairs = comparisons(load(two_languages))
    assert [(pair.arm.cells[0].corpus, pair.reference.cells[0].corpus) for pair in pairs] == [
        ("HiddenMarkov", "HiddenMarkov"),
        ("KingJames", "KingJames"),
    ]
    assert all(pair.refusal is None and pair.seeds == (0, 1, 2) for pair in pairs)


def test_corpora_alone_tell_families_apart(builder):
    for corpus in ("KingJames", "PeoplesDaily"):
        for plan in (CLM, MLM):
            arm, pairing = f"{plan.arm} {corpus}", {"data": corpus}
            builder.run(replace(small(plan), arm=arm, corpus=corpus, pairing=pairing), 0)
    grid = load(builder.finish())
    assert [f.source for f in grid.families] == ["KingJames", "PeoplesDaily"]
    assert [c.names for c in comparisons(grid)] == [f"mlm {c} − clm {c}" for c in ("KingJames", "PeoplesDaily")]


def test_two_corpora_of_one_language_are_two_families(builder):
    builder.run(on(CLM, "English", corpus="KingJames"), 0)
    builder.run(replace(on(CLM, "English", corpus="LocalText"), arm="other"), 0)
    grid = load(builder.finish())
    assert [f.source for f in grid.families] == ["English (KingJames)", "English (LocalText)"]


def test_an_arm_that_has_not_begun_is_with_the_others_of_its_language(builder):
    builder.run(on(CLM, "English"), 0)
    builder.pending(on(MLM, "English"), 0)
    builder.pending(on(CLM, "Chinese"), 0)
    grid = load(builder.finish())
    assert [(f.source, len(f.arms)) for f in grid.families] == [("English", 2), ("Chinese", 1)]
    document = compose(grid, [], "tokens", True)
    assert "Chinese: No run has recorded anything yet." in document.summary


def test_an_arm_of_which_nothing_is_known_is_compared_with_none(builder):
    for corpus in ("KingJames", "PeoplesDaily"):
        builder.run(replace(small(CLM), arm=corpus, corpus=corpus, factors={}), 0)
    builder.pending(replace(small(MLM), factors={}), 0)
    grid = load(builder.finish())
    assert [f.source for f in grid.families] == ["KingJames", "PeoplesDaily", UNKNOWN]
    assert comparisons(grid) == []


def test_unpaired_arms_of_one_family_are_still_refused(builder):
    builder.run(on(CLM, "English"), 0)
    builder.run(on(MLM, "English", pairing={"data": "other"}), 0)
    builder.run(on(CLM, "Chinese", corpus="PeoplesDaily"), 0)
    document = compose(load(builder.finish()), [], "tokens", True)
    assert any(
        alert.startswith("English: Refused: mlm and clm are not paired. packed data") for alert in document.alerts
    )


def test_one_name_has_one_look_in_all_families(two_languages, builder):
    grid = load(two_languages)
    for family in (grid, *grid.families):
        found = looks(family)
        assert (found["clm"].color, found["mlm"].color) == (BLUE, VERMILION)
    for rate in (0.15, 0.3):
        builder.run(on(replace(MLM, arm=f"{rate}", mask_rate=rate), "English"), 0)
    builder.run(on(CLM, "English"), 0)
    builder.run(on(CLM, "Chinese", corpus="PeoplesDaily"), 0)
    builder.run(on(replace(MLM, arm="0.3", mask_rate=0.3), "Chinese", corpus="PeoplesDaily"), 0)
    found = looks(load(builder.finish()))
    assert (found["clm"].color, found["0.15"].color) == (BLUE, VERMILION)
    assert len({look.color for look in found.values()}) == 3


def test_the_named_baseline_is_that_of_its_own_family(builder):
    for language, corpus in (("English", "KingJames"), ("Chinese", "PeoplesDaily")):
        for rate in (0.2, 0.3):
            plan = replace(MLM, arm=f"{rate}", mask_rate=rate)
            builder.run(on(plan, language, corpus=corpus), 0)
    grid = load(builder.finish(baseline="English, 0.3"))
    assert [c.names for c in comparisons(grid)] == ["0.2 − 0.3"]
    assert [c.names for c in comparisons(load(builder.finish(baseline="0.3")))] == ["0.2 − 0.3"] * 2


def test_overview_has_a_row_a_family_with_its_own_arms_only(two_languages, tmp_path):
    grid = load(two_languages)
    assert headline(grid.families[0]) == [EXCESS, STATES]
    with style():
        drawing = overview(grid, "tokens", True)
        titles = [ax.get_title(loc="left") for ax in drawing.figure.axes]
        assert titles == [
            "known rules: excess over the best possible loss",
            "known rules: states probe",
            "King James: books probe",
            "King James: real-versus-scrambled accuracy",
        ]
        assert not any("…" in title for title in titles)
        means = [[line for line in ax.lines if len(line.get_xdata()) == 8] for ax in drawing.figure.axes]
        assert [len(found) for found in means] == [8] * 4  # three seeds and a mean of each of two arms
        save(drawing, tmp_path)
        (legend,) = drawing.figure.legends
        assert [text.get_text() for text in legend.get_texts()][:2] == ["clm (n = 3)", "mlm (n = 3)"]
        assert not any(legend.get_window_extent().overlaps(ax.get_window_extent()) for ax in drawing.figure.axes)


def test_report_has_each_part_once_a_family_under_names_of_its_own(report):
    figures = {path.stem for path in (report / "figures").glob("*.png")}
    assert {"overview", "calibrated", "excess", "states-probe", "curves-probe-books-accuracy"} <= figures
    both = ("own-losses", "density", "final-scores", "budget-to-threshold", "budget-ratios")
    assert {f"{name}-{slug}" for name in both for slug in ("known-rules", "King-James")} <= figures
    assert not set(both) & figures and "common-mask-rates" in figures  # known rules recorded no losses at rates
    tables = {path.stem for path in (report / "tables").glob("*.csv")}
    assert {"best_possible", "published_objective", "runs", "budgets_known-rules", "budgets_King-James"} <= tables
    page = Page((report / "report.html").read_text())
    anchors = [attrs["id"] for _, attrs in page.seen if "id" in attrs]
    assert len(set(anchors)) == len(anchors)
    assert page.text.count("Published, not measured here") == 1
    for said in ("4 arms, on 2 data sources", "known rules: Nats per target above", "known rules: Own losses"):
        assert said in page.text
    assert "refused" not in page.text.lower() and "different budgets" not in page.text


def test_budget_tables_have_the_arms_and_quantities_of_their_family(report):
    rules, text = (read(report / "tables" / f"budgets_{slug}.csv") for slug in ("known-rules", "King-James"))
    assert {row["quantity"] for row in rules} == {"excess (nats per target)", "states probe, accuracy"}
    assert {row["quantity"] for row in text} == {"books probe, accuracy", "real-versus-scrambled accuracy"}
    assert all("missing (nothing recorded)" not in row.values() for row in rules + text)


def test_budgets_may_differ_between_families_but_not_within(builder):
    for tokens, language, corpus in ((1_000, "English", "KingJames"), (2_000, "Chinese", "PeoplesDaily")):
        builder.run(on(CLM, language, corpus=corpus), 0)
        builder.cells[-1]["budget_tokens"] = tokens
    for cell in builder.cells:
        (builder.directory / cell["directory"] / "run.json").unlink()
    assert not compose(load(builder.finish()), [], "tokens", True).alerts
    builder.cells[1] |= {"factors": builder.cells[0]["factors"], "corpus": "KingJames"}
    assert any("different budgets" in alert for alert in compose(load(builder.finish()), [], "tokens", True).alerts)


def test_a_single_family_with_known_rules_keeps_plain_names(builder):
    plan = replace(known_rules(CLM, falling(20), 3.4, rising(0.5, 0.78, 2_000)), arm="CLM", factors={"arm": "CLM"})
    builder.run(plan, 0)
    names = [drawing.name for drawing in compose(load(builder.finish()), [], "tokens", True).drawings]
    assert {"overview", "calibrated", "excess", "states-probe", "own-losses"} <= set(names)


def test_slugs_differ_whatever_the_sources_are_called():
    assert slugs(["known rules", "known/rules", "人民日报", "///", "***"]) == [
        "known-rules",
        "known-rules-2",
        "人民日报",
        "source",
        "source-5",
    ]


def test_text_yardsticks_alone_still_make_an_overview(builder):
    builder.run(yardsticks(CLM, 8_000), 0)
    with style():
        drawing = overview(load(builder.finish()), "tokens", True)
    assert [ax.get_title(loc="left") for ax in drawing.figure.axes][-1] == "supervision received"
