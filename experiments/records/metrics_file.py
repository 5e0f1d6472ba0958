"""metrics.csv: one recorded value a line, only ever appended; stream.csv: which text was read, as a rolling hash."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from experiments.records.durable import replacing

METRICS, STREAM = "metrics.csv", "stream.csv"
AXES = ("tokens", "targets", "flops", "seconds")
COLUMNS = ("step", *AXES, "quantity", "value")
STREAM_COLUMNS = ("step", "hash")


class Row(NamedTuple):
    """One recorded value, with where each cumulative axis stood when it was recorded."""

    step: int
    tokens: int
    targets: int
    flops: float
    seconds: float
    quantity: str
    value: float


def append_rows(path: Path, rows: Iterable[Row]) -> None:
    """Append rows to metrics.csv in one write, with the header when the file is new."""
    lines = [] if path.exists() else [",".join(COLUMNS)]
    lines += [",".join(repr(v) if isinstance(v, float) else str(v) for v in row) for row in rows]
    with open(path, "a", encoding="utf-8", newline="") as file:
        file.write("".join(line + "\n" for line in lines))


def drop_rows_after(path: Path, step: int) -> None:
    """Keep only the rows recorded up to `step`: a resumed run records the later ones again."""
    if path.exists():
        kept = [row for row in _parse_metrics(path) if row.step <= step]
        with replacing(path) as temporary:
            append_rows(temporary, kept)


def read_metrics(run: Path) -> list[Row]:
    """Every row recorded by a run, in order; empty before its first. A last line torn by a kill is left out."""
    path = Path(run) / METRICS
    return _parse_metrics(path) if path.exists() else []


def _parse_metrics(path: Path) -> list[Row]:
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is damaged ({error})") from error
    whole = text[: text.rfind("\n") + 1]
    reader = csv.reader(whole.splitlines())
    header = next(reader, None)
    if header is not None and tuple(header) != COLUMNS:
        raise ValueError(f"{path} has the columns {header}, not {list(COLUMNS)}; it was not written by this program")
    try:
        return [
            Row(int(s), int(t), int(g), float(f), float(c), quantity, float(value))
            for s, t, g, f, c, quantity, value in reader
        ]
    except ValueError as error:
        raise ValueError(f"{path} line {reader.line_num} is damaged ({error})") from error


def read_stream(run: Path) -> dict[int, str]:
    """Hash of the text consumed so far, 16 hexadecimal digits, by step; a last line torn by a kill is left out."""
    path = Path(run) / STREAM
    if not path.exists():
        return {}
    text = path.read_text(encoding="utf-8")
    header, *lines = text[: text.rfind("\n") + 1].splitlines() or [",".join(STREAM_COLUMNS)]
    try:
        if header != ",".join(STREAM_COLUMNS):
            raise ValueError(f"it has the columns {header}")
        return {int(step): f"{int(digits, 16):016x}" for step, digits in (line.split(",") for line in lines)}
    except ValueError as error:
        raise ValueError(f"{path} is damaged ({error})") from error
