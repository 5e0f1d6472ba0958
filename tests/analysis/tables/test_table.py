import csv
import re

import pytest

from analysis.records.run_records import Missing
from analysis.statistics.intervals import Interval
from analysis.tables.table import Column, Table, show, si


@pytest.mark.parametrize("blank", [None, ""])
def test_a_blank_cell_is_an_error(blank):
    with pytest.raises(ValueError, match="blank"):
        Table("t", "", (Column("a"), Column("b")), [("x", blank)])


def test_a_short_row_is_an_error():
    with pytest.raises(ValueError):
        Table("t", "", (Column("a"), Column("b")), [("x",)])


def test_missing_is_shown_and_written_with_its_reason(tmp_path):
    columns = (Column("a"), Column("x", "score", True))
    table = Table("t", "", columns, [("r", Missing("why")), ("s", Interval(0.5, None, None, 1))])
    assert table.display == [["r", "missing (why)"], ["s", "0.500 [one seed]"]]
    lines = table.write(tmp_path).read_text().splitlines()
    assert lines == [
        "a,x,x low,x high,x n",
        "r,missing (why),missing (why),missing (why),0",
        "s,0.5,missing (one seed),missing (one seed),1",
    ]


@pytest.mark.parametrize(
    "name",
    ["=1+1", "+cmd|' /C calc'!A0", "-2+3", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "＝1+1", "－", '=HYPERLINK("x","y")'],
)
def test_names_that_a_spreadsheet_takes_for_formulas_are_defused(name, tmp_path):
    path = Table("t", "", (Column("arm"), Column(name, "score", True)), [(name, 0.5)]).write(tmp_path)
    with open(path, newline="", encoding="utf-8") as file:
        header, row = csv.reader(file)
    cell = "'" + re.sub(r"[\r\n]", " ", name)
    assert header == ["arm", *(cell + part for part in ("", " low", " high", " n"))] and row[0] == cell


def test_a_name_cannot_end_its_row(tmp_path):
    path = Table("t", "", (Column("arm"), Column("x", "score")), [("a\r=1+1", 0.5), ("b\r\n\n@x", 1.0)]).write(tmp_path)
    assert path.read_bytes() == b"arm,x\na =1+1,0.5\nb @x,1.0\n"


def test_numbers_stay_numbers_and_other_text_as_it_is(tmp_path):
    values = (
        -0.5,
        -3,
        1e-7,
        float("-inf"),
        "-0.5",
        "+1e-3",
        "-.5",
        "MLM 15%",
        "a=b",
        "'q",
        Interval(-0.5, -0.75, -0.25, 3),
    )
    columns = tuple(Column(str(place), "text", isinstance(value, Interval)) for place, value in enumerate(values))
    lines = Table("t", "", columns, [values]).write(tmp_path).read_text(encoding="utf-8").splitlines()
    assert lines[1] == "-0.5,-3,1e-07,-inf,-0.5,+1e-3,-.5,MLM 15%,a=b,'q,-0.5,-0.75,-0.25,3"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (999.4, "999"),
        (1000, "1k"),
        (1_234_567, "1.23M"),
        (999_999, "1M"),
        (3.4e12, "3.4T"),
        (2e21, "2e+03E"),
    ],
)
def test_si(value, text):
    assert si(value) == text


def test_a_small_threshold_is_not_shown_as_nothing():
    assert [show(value, "threshold") for value in (0.0005, 0.02, 2.0)] == ["0.0005", "0.020", "2.000"]


def test_styles():
    assert show(Interval(-0.1234, -0.2, 0.05, 3), "signed") == "−0.123 [−0.200, +0.050]"
    assert show(1_234_567, "count") == "1,234,567"
    assert show(2.5, "ratio") == "2.50"
