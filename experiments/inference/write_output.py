"""Records to standard output, as TSV or as JSON lines."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Mapping
from typing import Any

FORMATS = ("tsv", "jsonl")
UNDEFINED = "NA"
"""In TSV, what has no value; null in JSON lines."""
_ESCAPES = str.maketrans({"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"})


class RecordPrinter:
    """Prints records that all have the same keys, in one of FORMATS; in TSV a header precedes the first one.

    Args:
        format: one of FORMATS.
        note: a remark printed ahead of the first record: a comment in TSV; JSON lines have no place for it, so it goes
            to standard error.
    """

    def __init__(self, format: str, note: str | None = None) -> None:
        self.format, self.note = format, note
        self.header: tuple[str, ...] | None = None

    def print_record(self, record: Mapping[str, Any]) -> None:
        tsv = self.format == "tsv"
        if self.header is None:
            self.header = tuple(record)
            if self.note is not None:
                print(f"# {self.note}" if tsv else self.note, file=sys.stdout if tsv else sys.stderr)
            if tsv:
                print("\t".join(self.header))
        assert self.header == tuple(record)
        if tsv:
            print("\t".join(_tsv_field(value) for value in record.values()))
        else:
            print(json.dumps({key: _finite_or_none(value) for key, value in record.items()}, ensure_ascii=False))


def _finite_or_none(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _tsv_field(value: Any) -> str:
    if value is None:
        return UNDEFINED
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, list | dict):
        return json.dumps(value, ensure_ascii=False)
    return str(value).translate(_ESCAPES)
