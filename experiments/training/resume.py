"""From which checkpoint a run goes on: the newest that is whole, and whose records are."""

from __future__ import annotations

from pathlib import Path

import torch

from experiments.records import metrics_file
from experiments.records.proof import TrainingProof, training_rows
from experiments.records.quantities import TRAINING
from experiments.training.checkpoint_files import CHECKPOINTS, complete, verify
from experiments.training.recorder import Recorder


def resume_from(run: Path) -> tuple[Path | None, dict[Path, str]]:
    """The newest checkpoint that is not damaged and whose rows are all there, and why newer ones are damaged.

    None where the run has saved nothing yet.

    Raises:
        ValueError: when it has, but nothing that it could go on from.
    """
    rows, stream = metrics_file.readable_rows(run)
    damaged: dict[Path, str] = {}
    gaps: list[str] = []
    for path in reversed(complete(run / CHECKPOINTS)):
        try:
            verify(path)
            proof = proof_in(path)
        except ValueError as error:
            damaged[path] = str(error)
            continue
        if not (gap := proof.gap(training_rows(rows), stream)):
            return path, damaged
        gaps.append(gap)
    if damaged or gaps:
        reasons = "; ".join(dict.fromkeys([*gaps, *damaged.values()]))
        raise ValueError(
            f"{run} cannot go on from any of its checkpoints: {reasons}; or move the directory away to start again"
        )
    return None, {}


def proof_in(checkpoint: Path) -> TrainingProof:
    """What a run had recorded when it saved a checkpoint. Raises ValueError when the checkpoint does not say."""
    state = torch.load(checkpoint, map_location="cpu", weights_only=True, mmap=True)
    try:
        return TrainingProof.from_plain(state["callbacks"][Recorder.__qualname__]["proof"])
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{checkpoint} does not say what was recorded ({error})") from error


def cut_records(run: Path, checkpoint: Path | None) -> None:
    """Drop what was recorded after the checkpoint that a run goes on from; None: all of it."""
    rows, stream = metrics_file.readable_rows(run)
    proof = TrainingProof() if checkpoint is None else proof_in(checkpoint)
    step = 0 if checkpoint is None else int(checkpoint.stem.removeprefix("step-"))
    training = set(training_rows(rows)[: proof.rows.rows])
    kept = [row for row in rows if row in training or (row.quantity not in TRAINING and row.step <= step)]
    metrics_file.replace_rows(run / metrics_file.METRICS, kept)
    metrics_file.replace_rows(run / metrics_file.STREAM, stream[: proof.stream.rows])
