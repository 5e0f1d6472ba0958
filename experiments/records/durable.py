"""Files that survive a kill: written beside their place, then moved there. Standard library only."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


def content_hash(value: Any, length: int = 8) -> str:
    """Hexadecimal hash of a JSON-like value, independent of the order of its keys."""
    canonical = json.dumps(value, sort_keys=True, ensure_ascii=True, default=str)
    return hashlib.sha256(canonical.encode()).hexdigest()[:length]


def file_digest(path: Path) -> str:
    """sha256 of a file's contents."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a path beside `path` to write to; on success move it there durably, on failure leave `path` as it was."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        yield temporary
        with open(temporary, "rb") as written:
            os.fsync(written.fileno())
        os.replace(temporary, path)
        sync_directory(path.parent)
    finally:
        temporary.unlink(missing_ok=True)


def sync_directory(directory: Path) -> None:
    """Make a rename in `directory` survive a power cut, where the file system can."""
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_text(path: Path, text: str) -> None:
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def write_json(path: Path, value: Any) -> None:
    write_text(path, json.dumps(value, indent=2, ensure_ascii=False) + "\n")


def read_json(path: Path) -> Any:
    """The value in a JSON file. Raises ValueError, naming the file, when it is no JSON."""
    try:
        return json.loads(Path(path).read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path} is not valid JSON ({error}); delete it to have it made again") from error


def read_mapping(path: Path) -> dict[str, Any]:
    """As read_json, for a file that must hold a JSON object."""
    value = read_json(path)
    if not isinstance(value, dict):
        raise ValueError(f"{path} holds no JSON object; delete it to have it made again")
    return value


def make_directory(path: Path) -> Path:
    """Create `path`; raises ValueError with the reason when nothing can be written there."""
    try:
        path.mkdir(parents=True, exist_ok=True)
        trial = path / f".writable.{os.getpid()}"
        trial.touch()
        trial.unlink()
    except OSError as error:
        reason = error.strerror or error
        raise ValueError(f"cannot write to {path} ({reason}); name another directory with --results") from error
    return path
