"""metrics.csv and stream.csv: what a run recorded, one value or one hash a line. Training only ever appends; when a run
is resumed, both are cut back to its checkpoint."""

from __future__ import annotations

import csv
import os
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, get_type_hints

from experiments.records.durable import naming, replacing

METRICS, STREAM = "metrics.csv", "stream.csv"
AXES = ("tokens", "targets", "flops", "seconds")


class Row(NamedTuple):
    """One recorded value, with where each cumulative axis stood when it was recorded."""

    step: int
    tokens: int
    targets: int
    flops: float
    seconds: float
    quantity: str
    value: float


class StreamHash(NamedTuple):
    """Hash of the blocks that the first rank had read by the end of a step, in their order."""

    step: int
    hash: str


def place(totals: Mapping[str, float]) -> tuple[int, int, float, float]:
    """Where the totals of a ledger stand on AXES, as a row has it."""
    return int(totals["tokens"]), int(totals["targets"]), totals["flops"], totals["seconds"]


def append_rows(path: Path, rows: Sequence[Row | StreamHash]) -> None:
    """Append rows to a file in one write, with the header when the file is new; when this returns they are on disk."""
    if not rows:
        return
    lines = [*map(as_line, rows)]
    if not path.exists():
        lines.insert(0, ",".join(rows[0]._fields))
    with naming(path), open(path, "a", encoding="utf-8", newline="") as file:
        file.write("".join(line + "\n" for line in lines))
        file.flush()
        os.fsync(file.fileno())


def as_line(row: Row | StreamHash) -> str:
    """A row as it stands in the file, without its line end; reading it gives the row again."""
    return ",".join(repr(value) if isinstance(value, float) else str(value) for value in row)


def insert_rows(run: Path, rows: Sequence[Row]) -> None:
    """Add rows at their steps, in place of those of the same quantity there. The file is replaced as a whole."""
    new = {(row.step, row.quantity) for row in rows}
    kept = [row for row in read_metrics(run) if (row.step, row.quantity) not in new]
    replace_rows(run / METRICS, sorted([*kept, *rows], key=lambda row: row.step))


def keep_rows(run: Path, kept: Callable[[Row], bool]) -> None:
    """Drop all other rows of metrics.csv."""
    rows = read_metrics(run)
    if not all(map(kept, rows)):
        replace_rows(run / METRICS, [row for row in rows if kept(row)])


def replace_rows(path: Path, rows: Sequence[Row | StreamHash]) -> None:
    """Replace a file by one with these rows; by none where there are no rows."""
    if not rows:
        path.unlink(missing_ok=True)
        return
    with replacing(path) as temporary:
        append_rows(temporary, rows)


def read_metrics(run: Path) -> list[Row]:
    """Every row recorded by a run, in order; empty before its first. A last line torn by a kill is left out.

    Raises:
        ValueError: when another line is damaged.
    """
    rows, problem = _read(Path(run) / METRICS, Row)
    if problem:
        raise ValueError(problem)
    return rows


def read_stream(run: Path) -> list[StreamHash]:
    """The hashes of the blocks that a run had read, by step. Raises as `read_metrics` does."""
    hashes, problem = _read(Path(run) / STREAM, StreamHash)
    if problem:
        raise ValueError(problem)
    return hashes


def readable_rows(run: Path) -> tuple[list[Row], list[StreamHash]]:
    """The rows of both files up to the first damaged line."""
    return _read(Path(run) / METRICS, Row)[0], _read(Path(run) / STREAM, StreamHash)[0]


def _read(path: Path, kind: Any) -> tuple[list[Any], str]:
    """The rows up to the first damaged line, and what is wrong with that one."""
    if not path.exists():
        return [], ""
    with naming(path):
        lines = path.read_bytes().split(b"\n")[:-1]  # what follows the last line end is empty, or a torn line
    if lines and lines[0].decode("utf-8", "replace").rstrip("\r") != ",".join(kind._fields):
        return (
            [],
            f"{path} has not the columns {', '.join(kind._fields)}; it is damaged, or was written by another program",
        )
    types = _types(kind)
    try:
        return _read_columns(lines[1:], kind, types), ""
    except (ValueError, csv.Error):
        pass  # which line it is, the loop below finds
    rows = []
    for number, line in enumerate(lines[1:], start=2):
        try:
            (cells,) = csv.reader([line.decode()])
            rows.append(kind._make(read(text) for read, text in zip(types, cells, strict=True)))
        except (ValueError, csv.Error) as error:
            return rows, f"{path} line {number} is damaged ({error})"
    return rows, ""


@cache
def _types(kind: Any) -> list[Any]:
    return [*get_type_hints(kind).values()]


def _read_columns(lines: Sequence[bytes], kind: Any, types: Sequence[Any]) -> list[Any]:
    """All rows column by column, five times as fast as line by line. Raises ValueError when any line is damaged."""
    text = b"\n".join(lines).decode()
    if '"' in text:
        raise ValueError("a quoted cell may go on in the next line")
    columns = zip(*csv.reader(text.split("\n")), strict=True)
    read = [[*map(of, column)] for of, column in zip(types, columns, strict=True)]
    return [*map(kind._make, zip(*read, strict=True))]
