"""Checkpoints that survive a kill at any moment and notice a flipped bit, and the one that a run goes on from.

A checkpoint is a file and, written after it, its sha256 in a second file; it counts only with both. Lightning's own
writer moves a temporary file across file systems, and a kill in between loses the previous checkpoint too.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any, NamedTuple

import torch
from lightning_fabric.plugins.io.checkpoint_io import CheckpointIO

from experiments.records import metrics_file
from experiments.records.durable import file_digest, leftovers, replacing, write_text
from experiments.records.proof import TrainingProof, training_rows
from experiments.records.quantities import TRAINING
from experiments.training.recorder import Recorder

CHECKPOINTS, SNAPSHOTS = "checkpoints", "snapshots"
KEPT = 2
"""Checkpoints, that a run goes on from if it is killed and one of them is damaged."""
OWN_NAME = re.compile(r"(?:step|tokens)-(\d+)\.ckpt")


class DurableCheckpointIO(CheckpointIO):
    """Writes beside the target, syncs, renames, syncs the directory; verifies the hash on reading."""

    def save_checkpoint(self, checkpoint: dict[str, Any], path: Any, storage_options: Any | None = None) -> None:
        path = Path(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        digest_file(path).unlink(missing_ok=True)
        with replacing(path) as temporary:
            _save(checkpoint, temporary)
            digest = file_digest(temporary)
        write_text(digest_file(path), digest + "\n")

    def load_checkpoint(self, path: Any, map_location: Any | None = None, weights_only: bool | None = None) -> Any:
        """Raises ValueError when the file is not what was written."""
        verify(Path(path))
        return torch.load(path, map_location=map_location or "cpu", weights_only=True)

    def remove_checkpoint(self, path: Any) -> None:
        digest_file(Path(path)).unlink(missing_ok=True)
        Path(path).unlink(missing_ok=True)


def _save(checkpoint: dict[str, Any], path: Path) -> None:
    try:
        torch.save(checkpoint, path)
    except RuntimeError as error:  # what torch makes of an error of the file system, its number lost
        if not re.search("PytorchStreamWriter|inline_container|unexpected pos|File .* cannot be opened", str(error)):
            raise
        reason = str(error).splitlines()[0]
        raise OSError(
            f"cannot write {path.parent} ({reason}): make room on the disk, then run the same command again"
        ) from error


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


def remove_unfinished(run: Path) -> None:
    """Remove the temporary files that a kill left in a run."""
    for directory in (run, run / CHECKPOINTS, run / SNAPSHOTS):
        for path in leftovers(directory):
            path.unlink()


def remove_old(directory: Path) -> None:
    """Remove all but the newest checkpoints of a run."""
    for path in complete(directory)[:-KEPT]:
        DurableCheckpointIO().remove_checkpoint(path)


def set_aside(path: Path) -> None:
    """Keep a damaged checkpoint under a name under which it does not count."""
    digest_file(path).unlink(missing_ok=True)
    os.replace(path, path.with_name(path.name + ".damaged"))


class Resumption(NamedTuple):
    """What a run goes on from."""

    checkpoint: Path | None
    """None where it has saved nothing yet."""
    proof: TrainingProof
    """What it had recorded then."""
    useless: dict[Path, str]
    """Newer checkpoints that are damaged or whose rows are not all there, and why."""


def resume_from(run: Path) -> Resumption:
    """The newest checkpoint of a run that is not damaged and whose rows are all there.

    Raises:
        ValueError: when it has saved something, but nothing that it could go on from.
    """
    rows, stream = metrics_file.readable_rows(run)
    useless: dict[Path, str] = {}
    for path in reversed(complete(run / CHECKPOINTS)):
        try:
            verify(path)
            proof = _proof_in(path)
            gap = proof.gap(training_rows(rows), stream)
        except (ValueError, OSError) as error:
            useless[path] = str(error)
            continue
        if not gap:
            return Resumption(path, proof, useless)
        useless[path] = f"{path} is of no use: {gap}"
    if useless:
        raise ValueError(
            f"{run} cannot go on from any of its checkpoints: {'; '.join(useless.values())}. Restore what is damaged "
            f"from a copy, or move the directory away to start again"
        )
    return Resumption(None, TrainingProof(), {})


def _proof_in(checkpoint: Path) -> TrainingProof:
    """What a run had recorded when it saved a checkpoint. Raises ValueError when the checkpoint does not say."""
    state = torch.load(checkpoint, map_location="cpu", weights_only=True, mmap=True)
    try:
        return TrainingProof.from_plain(state["callbacks"][Recorder.__qualname__]["proof"])
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{checkpoint} does not say what was recorded ({error})") from error


def cut_records(run: Path, found: Resumption) -> None:
    """Drop what was recorded after the checkpoint that a run goes on from."""
    rows, stream = metrics_file.readable_rows(run)
    step = 0 if found.checkpoint is None else number_of(found.checkpoint)
    training = iter(training_rows(rows)[: found.proof.rows.rows])
    kept = [row for row in rows if (next(training, None) is not None if row.quantity in TRAINING else row.step <= step)]
    metrics_file.replace_rows(run / metrics_file.METRICS, kept)
    metrics_file.replace_rows(run / metrics_file.STREAM, stream[: found.proof.stream.rows])


def number_of(path: Path) -> int:
    """The steps in a checkpoint's name, or the tokens in a snapshot's."""
    found = OWN_NAME.fullmatch(path.name)
    assert found is not None
    return int(found[1])


def digest_file(path: Path) -> Path:
    return path.with_name(path.name + ".sha256")
