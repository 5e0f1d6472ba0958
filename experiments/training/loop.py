"""Trains one run in its directory, from where it stands to the end of its budget."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytorch_lightning as pl
import yaml
from filelock import FileLock, Timeout
from pytorch_lightning.utilities import rank_zero_warn

from experiments.data import BlockData
from experiments.evaluation.evaluation import Evaluation, EvaluationConfig
from experiments.records import durable, metrics_file, run_directory
from experiments.training.callbacks import Checkpoints, Snapshots, Status, StopRequest
from experiments.training.checkpoint_files import complete, remove_unfinished, verify
from experiments.training.provenance import describe, pairing
from experiments.training.recorder import Recorder
from objectives import Objective


class Interrupted(Exception):
    """The run was asked to stop; it has saved its state and can be resumed."""


class Busy(ValueError):
    """Another process works on the run."""


class TrainingFailed(Exception):
    """Something went wrong inside training; the cause is attached, with its traceback."""


@dataclass(frozen=True)
class Run:
    """One run: where it lives, and what it is."""

    directory: Path
    cell: dict[str, Any]
    """What run_directory.RUN is to say of it."""
    config: dict[str, Any]
    """Its resolved configuration."""
    evaluation: EvaluationConfig


def fit_run(trainer: pl.Trainer, model: Objective, data: BlockData, run: Run, stop: StopRequest) -> None:
    """Train, record and evaluate; the run's directory is all the state there is.

    `stop` is set by Ctrl-C and SIGTERM while the run lasts; it then saves at the end of its step.

    Raises:
        Interrupted: when it was asked to stop before the end of its budget.
        ValueError: when another process works on the run, when it was begun with other data or weights, or when
            its checkpoint is damaged.
    """
    # One rank stands for all. A moment's patience, because looking whether a run is locked takes the lock.
    lock = FileLock(run.directory / run_directory.LOCK, timeout=3) if trainer.is_global_zero else nullcontext()
    try:
        with lock, _asked_to_stop(stop):
            _fit_locked(trainer, model, data, run, stop)
    except Timeout:
        raise Busy(f"another process is working on {run.directory}; wait for it, or stop it") from None


def _fit_locked(trainer: pl.Trainer, model: Objective, data: BlockData, run: Run, stop: StopRequest) -> None:
    directory = run.directory
    if trainer.is_global_zero:
        remove_unfinished(directory)
    checkpoints = complete(directory / "checkpoints")
    if checkpoints:
        verify(checkpoints[-1])
    status = Status(directory)
    if trainer.is_global_zero:
        _describe_run(trainer, model, data, run)
        step = int(checkpoints[-1].stem.removeprefix("step-")) if checkpoints else 0
        metrics_file.drop_after(directory, step)
        if step >= run.config["record_every_steps"]:
            for name in (metrics_file.METRICS, metrics_file.STREAM):
                if not (directory / name).exists():
                    raise ValueError(
                        f"{directory / name} lacks what was recorded up to step {step}; restore it, or delete "
                        f"{directory} to start again"
                    )
    status.write()
    recorder = Recorder(directory, run.config["record_every_steps"])
    snapshots = Snapshots(directory / "snapshots", recorder, Evaluation(data, run.evaluation), run.evaluation)
    saver = Checkpoints(directory / "checkpoints", run.config["checkpoint_every_steps"], stop)
    trainer.callbacks = [recorder, snapshots, saver, status, *trainer.callbacks]  # type: ignore[attr-defined]
    trainer.limit_val_batches = 0  # held-out loss is measured at the snapshots, not at epochs
    try:
        trainer.fit(model, data, ckpt_path=str(checkpoints[-1]) if checkpoints else None)
    except BaseException as error:
        status.write(state="failed", error=f"{type(error).__name__}: {error}")
        raise TrainingFailed(f"{type(error).__name__}: {error}") from error
    budget = model.budget_tokens(data.block_length)
    tokens = int(model.ledger.compute()["tokens"])
    state = "done" if tokens >= budget else "interrupted"
    status.write(state=state, step=trainer.global_step, tokens=tokens, budget_tokens=budget)
    if tokens < budget:
        raise Interrupted(f"stopped at {tokens:,} of {budget:,} tokens; run the same command to go on ({directory})")
    if trainer.is_global_zero:
        durable.write_text(directory / run_directory.DONE, "")


def _describe_run(trainer: pl.Trainer, model: Objective, data: BlockData, run: Run) -> None:
    """Write what the run is; keep what a sweep has written into its cell."""
    directory = run.directory
    proof = pairing(model, data, trainer)
    if (directory / run_directory.PAIRING).exists() and (
        before := durable.read_mapping(directory / run_directory.PAIRING)
    ) != proof:
        changed = [key for key in proof if before.get(key) != proof[key]]
        raise ValueError(
            f"{directory} was begun with another {' and '.join(changed)}; resuming would mix two experiments. Restore "
            f"what it was begun with, or delete it to start again"
        )
    durable.write_json(directory / run_directory.PAIRING, proof)
    durable.write_text(
        directory / run_directory.CONFIG, yaml.safe_dump(run.config, sort_keys=False, allow_unicode=True)
    )
    surroundings = describe(trainer, run.config["seed_everything"])
    if (directory / run_directory.ENVIRONMENT).exists():
        threads = durable.read_mapping(directory / run_directory.ENVIRONMENT).get("threads")
        if threads != surroundings["threads"]:
            rank_zero_warn(
                f"begun with {threads} threads and resumed with {surroundings['threads']}: sums may differ in their "
                f"last bits; give --threads {threads} to repeat the run exactly"
            )
    durable.write_json(directory / run_directory.ENVIRONMENT, surroundings)
    data.save_tokenizer(directory)
    planned = durable.read_mapping(directory / run_directory.RUN) if (directory / run_directory.RUN).exists() else {}
    measured = {
        "budget_tokens": model.budget_tokens(data.block_length),
        "nominal_density": model.nominal_density,
        "language": data.language,
        "corpus": data.source,
    }
    durable.write_json(directory / run_directory.RUN, {**run.cell, **planned, **measured})


@contextmanager
def _asked_to_stop(stop: StopRequest) -> Iterator[None]:
    """Turn Ctrl-C and SIGTERM into a request to save and stop, while a run lasts."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, stop.ask) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        # Not on entry: a request that came while the run was being set up counts.
        stop.signal = None
        for number, handler in before.items():
            signal.signal(number, handler)
