"""Names of files and addresses, whatever factors are called."""

from analysis.sections.document import Section, with_own_names
from analysis.tables.table import Column, Table


def section(anchor, *tables):
    return Section(anchor, anchor, tables=[Table(name, "", (Column("a"),), [("b",)]) for name in tables])


def test_a_factor_called_like_another_table_overwrites_nothing():
    found = with_own_names([section("runs", "runs", "Density"), section("runs", "runs", "density"), section("x", "x")])
    assert [one.anchor for one in found] == ["runs", "runs-2", "x"]
    assert [table.name for one in found for table in one.tables] == ["runs", "Density", "runs-2", "density-2", "x"]
