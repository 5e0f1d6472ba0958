"""Files of one sentence or one JSON object per line; "-" is standard input. Errors name the line."""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

GROUP_KEYS = ("linguistics_term", "UID")
"""Keys of BLiMP by which pairs are grouped when none are named."""

Groups = dict[tuple[str, str], list[int]]
"""The indices of the pairs of each group; a group is a key and its value."""


def read_texts(file: str, field: str | None) -> list[str]:
    """The texts of a file, or of standard input, without their line ends. Raises ValueError on bad input."""
    if field is None and file.lower().endswith((".jsonl", ".ndjson", ".json")):
        raise ValueError(f"{file} has JSON lines; name the key of the text with --field")
    if field is None:
        return read_lines(file)
    return [_text_at(record, field, file, line) for line, record in enumerate(_read_objects(file), start=1)]


def read_pairs(file: str, keys: Sequence[str] | None) -> tuple[list[tuple[str, str]], Groups]:
    """The pairs (good, bad) of a file of JSON lines and, for each group, the indices of its pairs.

    Args:
        file: its name, or "-".
        keys: keys to group by; GROUP_KEYS, where the file has them, when None.

    Raises:
        ValueError: on a line that is no pair or is without a key to group by, naming it, and when there are no pairs.
    """
    records = _read_objects(file)
    if not records:
        raise ValueError(f"{file} has no pairs")
    if keys is None:
        keys = [key for key in GROUP_KEYS if any(key in record for record in records)]
    pairs: list[tuple[str, str]] = []
    groups: Groups = defaultdict(list)
    for line, record in enumerate(records, start=1):
        for key in dict.fromkeys(keys):
            if key not in record:
                raise ValueError(f'{file} line {line} has no "{key}" to group by; its keys are {", ".join(record)}')
            groups[key, str(record[key])].append(len(pairs))
        good, bad = (_text_at(record, f"sentence_{kind}", file, line) for kind in ("good", "bad"))
        pairs.append((good, bad))
    return pairs, dict(groups)


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


def _read_objects(file: str) -> list[dict[str, Any]]:
    """The JSON object of each line, but for blank lines at the end."""
    lines = read_lines(file)
    while lines and not lines[-1].strip():
        lines.pop()
    return [_parse_object(text, file, line) for line, text in enumerate(lines, start=1)]


def _parse_object(text: str, file: str, line: int) -> dict[str, Any]:
    if not text.strip():
        raise ValueError(f"{file} line {line} is blank; remove it")
    try:
        value = json.loads(text, object_pairs_hook=_refuse_repeated_keys)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{file} line {line} is not valid JSON ({error})") from error
    if not isinstance(value, dict):
        raise ValueError(f"{file} line {line} is not a JSON object")
    return value


def _text_at(record: dict[str, Any], key: str, file: str, line: int) -> str:
    text = record.get(key)
    if not isinstance(text, str):
        raise ValueError(f'{file} line {line} has no text under the key "{key}"; its keys are {", ".join(record)}')
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ValueError(f"{file} line {line} has an unpaired surrogate, which is no valid character") from error
    return text


def _refuse_repeated_keys(items: list[tuple[str, Any]]) -> dict[str, Any]:
    record = dict(items)
    if len(record) < len(items):
        raise ValueError("a key is repeated")
    return record
