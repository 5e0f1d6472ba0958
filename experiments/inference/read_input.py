"""Files of one sentence or one JSON object a line; "-" is standard input. What is wrong is named by its line."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any


def read_texts(file: str, field: str | None) -> Iterator[str]:
    """The texts of a file, or of standard input, without their line ends. Raises ValueError on bad input."""
    if field is None and file.lower().endswith((".jsonl", ".ndjson", ".json")):
        raise ValueError(f"{file} has JSON lines; name the key of the text with --field")
    for line, text in enumerate(read_lines(file), start=1):
        yield text if field is None else text_of(read_object(text, file, line), field, file, line)


def read_lines(file: str) -> list[str]:
    """The lines of a file, or of standard input for "-", without their ends."""
    if file == "-" and sys.stdin is None:
        raise ValueError("there is no standard input to read; name a file")
    try:
        raw = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
        text = raw.decode("utf-8-sig")
    except OSError as error:
        raise ValueError(f"cannot read {file}: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        line = raw[: error.start].count(b"\n") + 1
        raise ValueError(f"{file} line {line} is not UTF-8; convert the file") from error
    lines = text.split("\n")
    return [line.removesuffix("\r") for line in (lines if lines[-1] else lines[:-1])]


def read_object(text: str, file: str, line: int) -> dict[str, Any]:
    """The JSON object of a line."""
    try:
        value = json.loads(text, object_pairs_hook=_without_repeats)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{file} line {line} is not valid JSON ({error})") from error
    if not isinstance(value, dict):
        raise ValueError(f"{file} line {line} is not a JSON object")
    return value


def text_of(record: dict[str, Any], key: str, file: str, line: int) -> str:
    if not isinstance(record.get(key), str):
        raise ValueError(f'{file} line {line} has no text under the key "{key}"; its keys are {", ".join(record)}')
    text = str(record[key])
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ValueError(f"{file} line {line} has half a character ({error.reason})") from error
    return text


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    record = dict(pairs)
    if len(record) < len(pairs):
        raise ValueError("a key stands there twice")
    return record
