"""The checkpoints and snapshots of a run: their names, and whether they are whole. Standard library only.

A checkpoint is a file and, written after it, its sha256 in a second file; it counts only with both.
"""

from __future__ import annotations

import re
from pathlib import Path

from experiments.records.durable import file_digest

CHECKPOINTS, SNAPSHOTS = "checkpoints", "snapshots"
OWN_NAME = re.compile(r"(?:step|tokens)-(\d+)\.ckpt")


def verify(path: Path) -> None:
    """Raises ValueError when a checkpoint is missing or damaged."""
    if not path.exists():
        raise ValueError(f"no checkpoint at {path}")
    if not digest_file(path).exists():
        raise ValueError(f"{path} is no finished checkpoint: {digest_file(path).name} is not beside it")
    if is_damaged(path):
        raise ValueError(
            f"the checkpoint {path} is damaged (its sha256 differs from the one written beside it); restore it from a "
            f"copy, or use another one"
        )


def is_damaged(path: Path) -> bool:
    """Whether a finished checkpoint is not what was written."""
    return digest_file(path).read_text(errors="replace").strip() != file_digest(path)


def complete(directory: Path) -> list[Path]:
    """The finished checkpoints or snapshots of a run's directory, oldest first: those under the names that a run gives,
    with their hash beside them. Links, and files of other names, are not the run's own."""
    found = (path for path in sorted(directory.glob("*.ckpt")) if OWN_NAME.fullmatch(path.name))
    return [path for path in found if not path.is_symlink() and digest_file(path).exists()]


def number_of(path: Path) -> int:
    """The steps in a checkpoint's name, or the tokens in a snapshot's."""
    found = OWN_NAME.fullmatch(path.name)
    assert found is not None
    return int(found[1])


def digest_file(path: Path) -> Path:
    return path.with_name(path.name + ".sha256")
