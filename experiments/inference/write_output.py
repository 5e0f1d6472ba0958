"""Records to standard output, as TSV or as JSON lines."""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Mapping
from typing import Any

UNDEFINED = "NA"
"""In TSV, what has no value; null in JSON lines."""
_ESCAPES = str.maketrans({"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"})


def add_format(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--format",
        choices=("tsv", "jsonl"),
        default="tsv",
        help="tab-separated with a header (white space in a text as \\t, \\n, \\\\), or one JSON object a line",
    )


class Table:
    """Prints records that all have the same keys; in TSV the first brings the header with it."""

    def __init__(self, form: str) -> None:
        self.form = form
        self.header: tuple[str, ...] | None = None

    def note(self, text: str) -> None:
        """A remark ahead of the records: a comment in TSV; JSON lines have no place for it, so it goes to stderr."""
        if self.form == "tsv":
            print(f"# {text}")
        else:
            print(text, file=sys.stderr)

    def write(self, record: Mapping[str, Any]) -> None:
        if self.form == "jsonl":
            print(json.dumps({key: _plain(value) for key, value in record.items()}, ensure_ascii=False))
            return
        if self.header is None:
            self.header = tuple(record)
            print("\t".join(self.header))
        assert self.header == tuple(record)
        print("\t".join(_cell(value) for value in record.values()))


def _plain(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _cell(value: Any) -> str:
    if value is None:
        return UNDEFINED
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, list | dict):
        return json.dumps(value, ensure_ascii=False)
    return str(value).translate(_ESCAPES)
