"""metrics.csv and stream.csv: what a run recorded, one value or one hash a line. Both only ever grow; when a run is
resumed, they are cut back to its checkpoint."""

from __future__ import annotations

import csv
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any, NamedTuple, get_type_hints

from experiments.records.durable import replacing

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


def append_rows(path: Path, rows: Sequence[Row | StreamHash]) -> None:
    """Append rows to a file in one write, with the header when the file is new."""
    lines = [",".join(repr(v) if isinstance(v, float) else str(v) for v in row) for row in rows]
    if rows and not path.exists():
        lines.insert(0, ",".join(rows[0]._fields))
    with open(path, "a", encoding="utf-8", newline="") as file:
        file.write("".join(line + "\n" for line in lines))


def insert_rows(run: Path, rows: Sequence[Row]) -> None:
    """Add rows at their steps, in place of those of the same quantity there. The file is replaced as a whole."""
    new = {(row.step, row.quantity) for row in rows}
    kept = [row for row in read_metrics(run) if (row.step, row.quantity) not in new]
    with replacing(run / METRICS) as temporary:
        append_rows(temporary, sorted([*kept, *rows], key=lambda row: row.step))


def keep_quantities(run: Path, kept: Collection[str]) -> None:
    """Drop the rows of all other quantities."""
    rows = read_metrics(run)
    if any(row.quantity not in kept for row in rows):
        with replacing(run / METRICS) as temporary:
            append_rows(temporary, [row for row in rows if row.quantity in kept])


def drop_after(run: Path, step: int) -> None:
    """Keep only what was recorded up to `step`: a resumed run records the rest again."""
    for name, kind in ((METRICS, Row), (STREAM, StreamHash)):
        kept = [row for row in _read(run / name, kind) if row.step <= step]
        if kept:
            with replacing(run / name) as temporary:
                append_rows(temporary, kept)
        else:
            (run / name).unlink(missing_ok=True)


def read_metrics(run: Path) -> list[Row]:
    """Every row recorded by a run, in order; empty before its first. A last line torn by a kill is left out."""
    return _read(Path(run) / METRICS, Row)


def read_stream(run: Path) -> dict[int, str]:
    """step -> hash of the blocks that a run had read by then."""
    return dict(_read(Path(run) / STREAM, StreamHash))


def _read(path: Path, kind: Any) -> list[Any]:
    if not path.exists():
        return []
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is damaged ({error})") from error
    reader = csv.reader(text[: text.rfind("\n") + 1].splitlines())
    header = next(reader, None)
    if header is not None and tuple(header) != kind._fields:
        raise ValueError(
            f"{path} has the columns {header}, not {list(kind._fields)}; it was not written by this program"
        )
    types = get_type_hints(kind).values()
    try:
        return [kind._make(read(text) for read, text in zip(types, line, strict=True)) for line in reader]
    except ValueError as error:
        raise ValueError(f"{path} line {reader.line_num} is damaged ({error})") from error
