"""Trains one run in its directory, from where it stands to the end of its budget."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytorch_lightning as pl
import torch
import yaml
from filelock import FileLock, Timeout
from pytorch_lightning.utilities import rank_zero_warn
from pytorch_lightning.utilities.exceptions import SIGTERMException

from experiments.data import BlockData
from experiments.data.settings import measured_on
from experiments.evaluation.evaluation import Evaluation, MetricFailed
from experiments.records import durable, metrics_file, quantities, run_directory
from experiments.training.callbacks import Checkpoints, Snapshots, Status, StopRequest, whole_steps
from experiments.training.checkpoint_files import complete, remove_unfinished, verify
from experiments.training.progress_bar import ProgressBar
from experiments.training.provenance import pairing, provenance
from experiments.training.recorder import TRAINING, Recorder
from experiments.training.run_spec import RunSpec
from objectives import Objective


class Interrupted(Exception):
    """The run was stopped by a signal; it has saved its state and can be resumed."""


class Busy(ValueError):
    """Another process works on the run."""


class TrainingFailed(Exception):
    """Something went wrong inside training; the cause is attached, with its traceback."""


@contextmanager
def locked(run: Path) -> Iterator[None]:
    """Keep other processes from working on a run meanwhile. Raises Busy when one does."""
    lock = FileLock(run / run_directory.LOCK)
    try:
        lock.acquire(timeout=3)  # a moment's patience, because looking whether a run is locked takes the lock
    except Timeout:
        raise Busy(f"another process is working on {run}; wait for it, or stop it") from None
    try:
        yield
    finally:
        lock.release()


def fit_run(trainer: pl.Trainer, model: Objective, data: BlockData, run: RunSpec, stop: StopRequest) -> None:
    """Train, record and evaluate, under the run's lock; the run's directory is all the state there is.

    `stop` is set by Ctrl-C and SIGTERM meanwhile; the run then saves at the end of its step.

    Raises:
        Interrupted: when a signal stopped it before the end of its budget.
        ValueError: when it was begun with other data or weights, or when its checkpoint is damaged.
    """
    directory = run.directory
    evaluation = run_evaluation(data, run.config)
    if trainer.is_global_zero:
        remove_unfinished(directory)
    checkpoints = complete(directory / "checkpoints")
    status = Status(directory)
    if checkpoints:
        verify(checkpoints[-1])
    if trainer.is_global_zero:
        _check_pairing(directory, pairing(model, data, trainer))
        _write_records(trainer, model, data, run)
        begin_declarations(directory, evaluation)
        _cut_records(directory, checkpoints[-1] if checkpoints else None)
    status.write()
    recorder = Recorder(directory, run.config["record_every_steps"])
    bar = ProgressBar()
    snapshots = Snapshots(directory, recorder, bar.evaluating(evaluation.measure), run.evaluation)
    saver = Checkpoints(directory / "checkpoints", run.config["checkpoint_every_steps"], stop)
    trainer.callbacks = [recorder, bar, snapshots, saver, status, *trainer.callbacks]  # type: ignore[attr-defined]
    with _stop_on_signals(stop):
        _train(trainer, model, data, checkpoints[-1] if checkpoints else None, status)
    if trainer.is_global_zero:
        durable.write_text(directory / run_directory.DONE, "")


def _train(trainer: pl.Trainer, model: Objective, data: BlockData, checkpoint: Path | None, status: Status) -> None:
    """Train to the end of the budget; raises as `fit_run` does."""
    try:
        trainer.fit(model, data, ckpt_path=str(checkpoint) if checkpoint else None)
    except SIGTERMException:
        pass  # one that came before our handler was in its place: the run has saved at the end of its step all the same
    except MetricFailed as error:  # says by itself what is to be done
        status.write(state="failed", error=str(error))
        raise
    except BaseException as error:
        status.write(state="failed", error=f"{type(error).__name__}: {error}")
        raise TrainingFailed(f"{type(error).__name__}: {error}") from error
    budget = whole_steps(model.budget_tokens(data.block_length), model.tokens_per_step(data.tokens_per_batch))
    tokens = model.tokens_read(data.tokens_per_batch)
    state = "done" if tokens >= budget else "interrupted"
    status.write(state=state, step=trainer.global_step, tokens=tokens, budget_tokens=budget)
    if tokens < budget:
        raise Interrupted(f"stopped at {tokens:,} of {budget:,} tokens; run the same command to go on ({status.run})")


def _check_pairing(directory: Path, proof: dict[str, Any]) -> None:
    """Write what the run reads and starts from; raises ValueError when it was begun with something else."""
    path = directory / run_directory.PAIRING
    before = durable.read_mapping(path) if path.exists() else proof
    if changed := [key for key in proof if before.get(key) != proof[key]]:
        raise ValueError(
            f"{directory} was begun with another {' and '.join(changed)}; resuming would mix two experiments. Restore "
            f"what it was begun with, or delete it to start again"
        )
    durable.write_json(path, proof)


def _write_records(trainer: pl.Trainer, model: Objective, data: BlockData, run: RunSpec) -> None:
    """Write what the run is and where it takes place; keep what a sweep has written of it."""
    directory = run.directory
    durable.write_text(
        directory / run_directory.CONFIG, yaml.safe_dump(run.config, sort_keys=False, allow_unicode=True)
    )
    place = provenance(trainer, run.seed)
    path = directory / run_directory.ENVIRONMENT
    threads = durable.read_mapping(path).get("threads") if path.exists() else place["threads"]
    if threads != place["threads"]:
        rank_zero_warn(
            f"begun with {threads} threads and resumed with {place['threads']}: sums may differ in their last bits; "
            f"give --threads {threads} to repeat the run exactly"
        )
    durable.write_json(path, place)
    data.save_tokenizer(directory)
    path = directory / run_directory.RUN
    planned = durable.read_mapping(path) if path.exists() else {}
    measured = {
        "budget_tokens": model.budget_tokens(data.block_length),
        "nominal_density": model.nominal_density,
        "language": data.language,
        "corpus": data.source,
    }
    durable.write_json(path, {**run.description, **planned, **measured})


def run_evaluation(data: BlockData, config: Mapping[str, Any]) -> Evaluation:
    """The metrics of a run's configuration, on its data. Raises ValueError when one of them is refused."""
    return Evaluation(data, config["evaluation"]["metrics"], measured_on(config["data"]), TRAINING)


def begin_declarations(directory: Path, evaluation: Evaluation) -> None:
    """Declare what every run records, and forget what was measured in another way under names of `evaluation`.

    What is measured at snapshots is declared when it has been.
    """
    declared = evaluation.without_superseded(quantities.read_declarations(directory))
    declared = replace(declared, quantities={**declared.quantities, **TRAINING})
    # First that it was measured, then its rows: after a kill in between it is measured again, whatever is wanted then.
    quantities.write_declarations(directory, declared)
    metrics_file.keep_quantities(directory, declared.quantities)


def _cut_records(directory: Path, checkpoint: Path | None) -> None:
    """Drop what was recorded after the checkpoint that the run goes on from. Raises ValueError when the rest is
    missing."""
    step = int(checkpoint.stem.removeprefix("step-")) if checkpoint else 0
    metrics_file.drop_after(directory, step)
    kept = {row.tokens for row in metrics_file.read_metrics(directory)}
    quantities.drop_measurements(directory, kept)
    if checkpoint and _had_recorded(checkpoint):
        for name in (metrics_file.METRICS, metrics_file.STREAM):
            if not (directory / name).exists():
                raise ValueError(
                    f"{directory / name} does not hold what was recorded up to step {step}; restore it, or delete "
                    f"{directory} to start again"
                )


def _had_recorded(checkpoint: Path) -> bool:
    """Whether anything had been recorded by then; record_every_steps may have been another one."""
    state = torch.load(checkpoint, map_location="cpu", weights_only=True, mmap=True)
    return state["callbacks"][Recorder.__qualname__]["before"]["targets"] > 0


@contextmanager
def _stop_on_signals(stop: StopRequest) -> Iterator[None]:
    """Turn Ctrl-C and SIGTERM into a request to save and stop."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, stop.ask) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
