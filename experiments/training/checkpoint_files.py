"""Checkpoints that survive a kill at any moment, and notice a flipped bit.

A checkpoint is a file and, written after it, its sha256 in a second file; it counts only with both. Lightning's own
writer moves a temporary file across file systems, and a kill in between loses the previous checkpoint too.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from lightning_fabric.plugins.io.checkpoint_io import CheckpointIO

from experiments.records.durable import file_digest, replacing, write_text


class DurableCheckpointIO(CheckpointIO):
    """Writes beside the target, syncs, renames, syncs the directory; verifies the hash on reading."""

    def save_checkpoint(self, checkpoint: dict[str, Any], path: Any, storage_options: Any | None = None) -> None:
        path = Path(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        digest_file(path).unlink(missing_ok=True)
        with replacing(path) as temporary:
            torch.save(checkpoint, temporary)
            digest = file_digest(temporary)
        write_text(digest_file(path), digest + "\n")

    def load_checkpoint(self, path: Any, map_location: Any | None = None, weights_only: bool | None = None) -> Any:
        """Raises ValueError when the file is not what was written."""
        verify(Path(path))
        return torch.load(path, map_location=map_location or "cpu", weights_only=True)

    def remove_checkpoint(self, path: Any) -> None:
        digest_file(Path(path)).unlink(missing_ok=True)
        Path(path).unlink(missing_ok=True)


def verify(path: Path) -> None:
    """Raises ValueError when a checkpoint is missing or damaged."""
    if not path.exists():
        raise ValueError(f"no checkpoint at {path}")
    if not digest_file(path).exists():
        raise ValueError(f"{path} is no finished checkpoint: {digest_file(path).name} is not beside it")
    if digest_file(path).read_text(errors="replace").strip() != file_digest(path):
        raise ValueError(
            f"the checkpoint {path} is damaged (its sha256 differs from the one written beside it); to resume from "
            f"the one before it, delete it"
        )


def complete(directory: Path) -> list[Path]:
    """The finished checkpoints of a directory, oldest first."""
    return [path for path in sorted(directory.glob("*.ckpt")) if digest_file(path).exists()]


def remove_unfinished(run: Path) -> None:
    """Remove what a kill left half-written in a run: temporary files, and checkpoints without their hash."""
    for path in run.glob("**/.*.tmp"):
        path.unlink()
    for path in run.glob("*/*.ckpt"):
        if not digest_file(path).exists():
            path.unlink()


def digest_file(path: Path) -> Path:
    return path.with_name(path.name + ".sha256")
