"""Names of files and addresses, whatever factors are called."""

from dataclasses import replace

from analysis.sections.document import Section, disambiguate, with_own_names
from analysis.tables.table import Column, Table


def section(anchor, *tables):
    return Section(anchor, anchor, tables=[Table(name, "", (Column("a"),), [("b",)]) for name in tables])


def test_a_factor_called_like_another_table_overwrites_nothing():
    found = with_own_names([section("runs", "runs", "Density"), section("runs", "runs", "density"), section("x", "x")])
    assert [one.anchor for one in found] == ["runs", "runs-2", "x"]
    assert [table.name for one in found for table in one.tables] == ["runs", "Density", "runs-2", "density-2", "x"]


def test_a_published_table_is_given_once_and_the_other_data_groups_say_where():
    groups = [[section("speed", "measured", "paper")] for _ in range(2)]
    for (one,) in groups:
        one.tables[1] = replace(one.tables[1], measured=False)
    (first,), (second,) = disambiguate(groups, ["King James", "rules"])
    assert [table.name for table in first.tables] == ["measured_King-James", "paper"] and not first.text
    assert [table.name for table in second.tables] == ["measured_rules"]
    assert second.text == ["Published scores to set beside these stand under King James: speed."]
