"""A table: typed values that are shown rounded in the report and written in full to CSV. No blank cells."""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from analysis.records.run_records import Missing
from analysis.statistics.intervals import Interval

Value = str | int | float | Interval | Missing
MINUS = "−"
ONE_SEED = Missing("one seed")
# Spreadsheets take a cell for a formula when it begins with one of these, or with its full-width form.
FORMULA = tuple("=+-@\t\r\n＝＋－＠")
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


@dataclass(frozen=True)
class Column:
    """format is text, count, score, threshold, signed, budget or ratio; an interval takes four columns of the CSV."""

    name: str
    format: str = "text"
    interval: bool = False


@dataclass(frozen=True)
class Table:
    """name is that of its CSV; `shown` False keeps it out of the report's page, `measured` False is a published one."""

    name: str
    caption: str
    columns: tuple[Column, ...]
    rows: Sequence[tuple[Value, ...]]
    shown: bool = True
    measured: bool = True

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row) != len(self.columns) or any(value is None or value == "" for value in row):
                raise ValueError(f"table {self.name}: a row of {len(self.columns)} cells has a blank: {row}")

    @property
    def header(self) -> list[str]:
        return [column.name for column in self.columns]

    @property
    def display(self) -> list[list[str]]:
        """The rows as shown: rounded, `mean [low, high]`, `missing (reason)`."""
        return [[show(v, c.format) for v, c in zip(row, self.columns, strict=True)] for row in self.rows]

    def write(self, directory: Path) -> Path:
        """Write the CSV in full precision; an interval fills the columns X, X low, X high, X n.

        Text that a spreadsheet would take for a formula, as an arm may be named, gets a ' in front.
        """
        path = directory / f"{self.name}.csv"
        with open(path, "w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow([defused(name) for column in self.columns for name in _names(column)])
            for row in self.rows:
                writer.writerow([f for v, c in zip(row, self.columns, strict=True) for f in _fields(v, c)])
        return path


def file_name(name: str) -> str:
    """The name of a quantity as part of a file's name."""
    return re.sub(r"[^A-Za-z0-9._@-]+", "-", name).strip("-.") or "quantity"


def _names(column: Column) -> list[str]:
    parts = ("low", "high", "n") if column.interval else ()
    return [column.name, *(f"{column.name} {part}" for part in parts)]


def _fields(value: Value, column: Column) -> list[str]:
    if not column.interval:
        return [_exact(value)]
    if not isinstance(value, Interval):
        return [_exact(value)] * 3 + ["0"]
    ends = [ONE_SEED if end is None else end for end in (value.low, value.high)]
    return [_exact(value.mean), *map(_exact, ends), str(value.n)]


def _exact(value: Value) -> str:
    return repr(value) if isinstance(value, float) else defused(str(value))


def defused(text: str) -> str:
    """Text as a cell of one line that no spreadsheet takes for a formula; a number stays a number."""
    line = re.sub(r"[\r\n]+", " ", text)  # a bare carriage return would end the row, and a formula could follow
    return f"'{line}" if text.startswith(FORMULA) and not NUMBER.fullmatch(text) else line


def si(value: float) -> str:
    """Three digits with k, M, G, T, P, E: 1234567 -> 1.23M."""
    if not math.isfinite(value) or abs(value) < 1000:
        return f"{value:.3g}"
    power = min(int(math.log10(abs(value)) // 3), 6)
    if float(f"{value / 1000**power:.3g}") >= 1000 and power < 6:
        power += 1
    return f"{value / 1000**power:.3g}{'kMGTPE'[power - 1]}"


def number(value: float, format: str) -> str:
    """A single number in a column's format."""
    match format:
        case "budget":
            return si(value)
        case "ratio":
            return f"{value:.2f}"
        case "signed":
            return f"{value:+.3f}".replace("-", MINUS)
        case "count":
            return f"{value:,.0f}"
        case "threshold" if abs(value) < 0.01:  # steps of a ladder may be as small as they like
            return f"{value:.3g}".replace("-", MINUS)
        case _:
            return f"{value:.3f}".replace("-", MINUS)


def show(value: Value, format: str) -> str:
    """A cell as the report shows it."""
    if isinstance(value, Interval):
        if value.low is None or value.high is None:
            return f"{number(value.mean, format)} [one seed]"
        return f"{number(value.mean, format)} [{number(value.low, format)}, {number(value.high, format)}]"
    if isinstance(value, str | Missing) or format == "text":
        return str(value)
    return number(value, format)
