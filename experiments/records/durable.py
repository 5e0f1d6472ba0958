"""Files that survive a kill: written beside their place, then moved there. Standard library only."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

UNFINISHED = ".tmp"
REMEDIES = {
    errno.ENOSPC: "make room on the disk",
    errno.EDQUOT: "make room within your quota",
    errno.EACCES: "grant the permission, or choose another directory",
    errno.EPERM: "grant the permission, or choose another directory",
    errno.EROFS: "choose a directory that can be written",
    errno.EMFILE: "raise the limit of open files (ulimit -n)",
    errno.EIO: "check the disk",
}


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
    temporary = path.with_name(f".{path.name}.{os.getpid()}{UNFINISHED}")
    with naming(path):
        try:
            yield temporary
            with open(temporary, "rb") as written:
                os.fsync(written.fileno())
            os.replace(temporary, path)
            sync_directory(path.parent)
        finally:
            temporary.unlink(missing_ok=True)


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Let an error of the file system say in one line which file it is about, and what to do."""
    try:
        yield
    except FileNotFoundError:
        raise
    except OSError as error:
        if error.errno is None:  # it says so already
            raise
        remedy = REMEDIES.get(error.errno, "check the disk and the permissions")
        raise OSError(
            f"cannot read or write {path} ({error.strerror}): {remedy}, then run the same command again"
        ) from error


def leftovers(directory: Path) -> list[Path]:
    """Files that a killed process was writing in a directory; links are not ours, nor is what they lead to."""
    if directory.is_symlink() or not directory.is_dir():
        return []
    pattern = re.compile(rf"\..+\.\d+{re.escape(UNFINISHED)}")
    found = (path for path in directory.iterdir() if pattern.fullmatch(path.name))
    return [path for path in found if path.is_file() and not path.is_symlink()]


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
    """The value in a JSON file. Raises ValueError, naming the file, when it is missing or no JSON."""
    try:
        with naming(path):
            return json.loads(Path(path).read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise ValueError(f"{path} is missing; restore it from a copy") from error
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path} is damaged: not valid JSON ({error}); restore it from a copy") from error


def read_mapping(path: Path) -> dict[str, Any]:
    """As read_json, for a file that must hold a JSON object."""
    value = read_json(path)
    if not isinstance(value, dict):
        raise ValueError(f"{path} is damaged: it holds no JSON object; restore it from a copy")
    return value


def make_directory(path: Path) -> Path:
    """Create `path`; raises OSError with the reason when nothing can be written there."""
    try:
        path.mkdir(parents=True, exist_ok=True)
        trial = path / f".writable.{os.getpid()}{UNFINISHED}"
        trial.touch()
        trial.unlink()
    except OSError as error:
        reason = error.strerror or error
        raise OSError(f"cannot write to {path} ({reason}); name another directory with --results") from error
    return path
