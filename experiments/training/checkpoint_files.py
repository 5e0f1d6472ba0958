"""Checkpoints that survive a kill at any moment and notice a flipped bit, and the one that a run goes on from.

Lightning's own writer moves a temporary file across file systems, and a kill in between loses the previous checkpoint
too.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any, NamedTuple

import torch
from lightning_fabric.plugins.io.checkpoint_io import CheckpointIO

from experiments.records import metrics_file
from experiments.records.checkpoints import CHECKPOINTS, SNAPSHOTS, complete, digest_file, number_of, verify
from experiments.records.durable import file_digest, leftovers, replacing, write_text
from experiments.records.proof import TrainingProof, training_rows
from experiments.records.quantities import TRAINING
from experiments.training.recorder import Recorder

KEPT = 2
"""Checkpoints, that a run goes on from if it is killed and one of them is damaged."""


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
