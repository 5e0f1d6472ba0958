from dataclasses import replace

from analysis.records.read_results import read_results
from analysis.sections.compose import compose
from analysis.sections.factors import best_sentences, factor_sections
from analysis.sections.summary import summarise
from analysis.statistics.group_comparisons import compare_within
from tests.support.effects import crossed_grid
from tests.support.grids import CLM, masked, minimal


def test_a_crossed_grid_has_curves_tables_best_settings_and_interactions(builder):
    group = crossed_grid(builder)
    sections = factor_sections(group)
    assert [section.title for section in sections] == [
        "By learning rate",
        "By width",
        "By two numbers at once",
        "Interactions",
    ]
    assert [table.name for section in sections for table in section.tables] == [
        *("learning_rate", "learning_rate_differences", "learning_rate_best"),
        *("width", "width_differences", "width_best"),
        "interactions",
    ]
    assert [drawing.name for section in sections for drawing in section.drawings] == [
        *("learning-rate", "width"),
        *("learning-rate-width-clm", "learning-rate-width-mlm"),
    ]


def test_an_axis_of_whole_objectives_adds_no_second_table(pair_grid):
    assert [section.title for section in factor_sections(read_results(pair_grid))] == []


def test_the_summary_names_the_best_setting_for_each_line(builder):
    assert best_sentences(crossed_grid(builder, widths=(64,))) == [
        "Best learning rate by word-swap accuracy: clm 0.001; mlm 0.001."
    ]


def test_the_summary_names_the_objective_of_a_single_line(builder):
    for rate in (0.15, 0.3):
        builder.run(minimal(masked(rate, arm=f"{rate}"), half=8_000 / rate), 0)
    assert best_sentences(read_results(builder.finish())) == [
        "Best mask rate for MLM by word-swap accuracy: 30 % (one seed, no interval)."
    ]


def test_unpaired_arms_are_refused(builder):
    (section, *_) = factor_sections(
        crossed_grid(builder, pairing=lambda rate: {"data": "other"} if rate == 0.003 else {})
    )
    assert section.alerts and all(alert.startswith("Refused: ") for alert in section.alerts)


def test_a_factor_never_takes_the_name_of_another_table_or_section(builder):
    for density in ("1", "2"):
        builder.run(replace(minimal(CLM), arm=density, factors={"density": density}), 0)
    document = compose(read_results(builder.finish()), [], "tokens", True)
    tables, anchors = [table.name for table in document.tables], [section.anchor for section in document.sections]
    assert {"density", "density-2"} <= set(tables) and {"density", "density-2"} <= set(anchors)
    for names in (tables, anchors, [drawing.name for drawing in document.drawings]):
        assert len(names) == len(set(names))


def test_names_of_several_levels_are_told_apart_in_sentences(builder):
    group = crossed_grid(builder, rates=(0.001, 0.003))
    said = " ".join(summarise(group, [compare_within(group, [])], "tokens"))
    assert "against (0.001; 64; clm); (0.001; 128; clm); " in said and "at the end: (0.001; 64; clm) 0." in said
