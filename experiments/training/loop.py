"""Trains one run in its directory, from where it stands to the end of its budget."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import pytorch_lightning as pl
from filelock import FileLock, Timeout
from pytorch_lightning.utilities import rank_zero_warn
from pytorch_lightning.utilities.exceptions import SIGTERMException

from experiments.data import BlockData
from experiments.data.settings import measured_on
from experiments.data.stream import Items
from experiments.evaluation.evaluation import Evaluation, MetricFailed
from experiments.records import durable, metrics_file, quantities, run_directory
from experiments.records.checkpoints import CHECKPOINTS, SNAPSHOTS, complete, is_damaged, number_of
from experiments.records.proof import declarations_or_none, is_proven, without_unproven, write_done
from experiments.records.quantities import TRAINING
from experiments.strict_yaml import dump_yaml
from experiments.training.callbacks import (
    STOP_SIGNALS,
    Checkpoints,
    Snapshots,
    Status,
    StopRequest,
    snapshot_steps,
    whole_steps,
)
from experiments.training.checkpoint_files import cut_records, remove_old, remove_unfinished, resume_from, set_aside
from experiments.training.parents.continuation import CONTINUED_AT
from experiments.training.progress_bar import ProgressBar
from experiments.training.provenance import OtherExperiment, Pairing, provenance
from experiments.training.recorder import Recorder
from experiments.training.run_spec import RunSpec
from objectives import IGNORE, Diverged, Objective
from objectives.lightning_module import TrainingModule

FIRST_BATCHES = 4
"""In which a run looks for targets before it starts."""


class Interrupted(Exception):
    """The run was stopped by a signal; it has saved its state and can be resumed."""


class Busy(ValueError):
    """Another process works on the run."""


class TrainingDiverged(Exception):
    """The loss or the gradient of the run is not finite; it has stopped before the step that would have spoiled it."""


class TrainingFailed(Exception):
    """Something went wrong inside training; the cause is attached, with its traceback."""


class TrainingData(pl.LightningDataModule):
    """What the Trainer reads: the batches of its rank, from where its step count stands on."""

    def __init__(self, blocks: BlockData) -> None:
        super().__init__()
        self.blocks = blocks

    def train_dataloader(self) -> Any:
        trainer = self.trainer
        assert trainer is not None
        start = trainer.global_step * trainer.accumulate_grad_batches
        return self.blocks.train_batches(start, trainer.global_rank, trainer.world_size)


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

    `stop` is set by Ctrl-C, SIGTERM and SIGHUP meanwhile; the run then saves at the end of its step.

    Raises:
        Interrupted: when a signal stopped it before the end of its budget.
        TrainingDiverged: when its loss or gradient is not finite.
        ValueError: when it was begun with other data or weights, when no step would have a target, or when neither its
            records nor its checkpoints are whole.
    """
    directory = run.directory
    status = Status(directory)
    _refuse_without_targets(model, data, trainer, status)
    evaluation = run_evaluation(data, run.config)
    pairing = Pairing(directory, data, trainer.world_size, run.start and run.start.hash)
    if trainer.is_global_zero:
        remove_unfinished(directory)
    found = resume_from(directory)
    if trainer.is_global_zero:
        pairing.check_data(resumed=found.checkpoint is not None)
        for path, reason in found.useless.items():
            rank_zero_warn(f"{reason}; it is set aside, and the run goes on from {found.checkpoint}")
            set_aside(path)
        remove_old(directory / CHECKPOINTS)  # a kill may have come between the newest and the removal of the oldest
        _warn_of_lost_snapshots(run, model, data.block_length, _tokens_per_step(trainer, data), found.proof.tokens)
        _write_records(trainer, model, data, run)
        cut_records(directory, found)
        begin_declarations(directory, evaluation)
    status.write()
    recorder = Recorder(directory, run.config["record_every_steps"])
    bar = ProgressBar()
    snapshots = Snapshots(directory, recorder, bar.evaluating(evaluation.measure), run.evaluation)
    saver = Checkpoints(directory / CHECKPOINTS, run.config["checkpoint_every_steps"], stop)
    ours = [pairing, recorder, bar, snapshots, saver, status]
    trainer.callbacks = [*ours, *trainer.callbacks]  # type: ignore[attr-defined]
    with _stop_on_signals(stop):
        _train(trainer, model, data, found.checkpoint, status)
    if trainer.is_global_zero:
        write_done(directory, recorder.proof)


def _refuse_without_targets(model: Objective, data: BlockData, trainer: pl.Trainer, status: Status) -> None:
    """Raises ValueError when a step is expected to have less than one target, or the first batches have none."""
    tokens = _tokens_per_step(trainer, data)
    targets = model.nominal_density * tokens
    first = islice(data.stream(0, 1, 0), FIRST_BATCHES)
    try:
        if targets >= 1 and any(_targets(model, data, items) for items in first):
            return
    except Exception as error:  # in the objective's own code, whose traceback is wanted
        reason = f"{type(error).__name__}: {error}"
        status.try_to_write(state="failed", error=reason)
        raise TrainingFailed(reason) from error
    found = f"{targets:.2g} are expected" if targets < 1 else f"the first {FIRST_BATCHES} batches have none"
    raise ValueError(
        f"training would learn next to nothing: of the {tokens:,} tokens of a step {found} to be predicted; raise the "
        f"objective's rate, such as model.init_args.corruption.rate, data.init_args.block_length or "
        f"data.init_args.batch_size"
    )


def _tokens_per_step(trainer: pl.Trainer, data: BlockData) -> int:
    """As `TrainingModule.tokens_per_step`, before there is one."""
    return data.tokens_per_batch * trainer.accumulate_grad_batches * trainer.world_size


def _targets(model: Objective, data: BlockData, items: Items) -> int:
    batch = data.batch_of("train", items)
    views = model.views(batch.tokens_BT, batch.key(model.shared.seed))
    return sum(int((view.targets_BT != IGNORE).sum()) for view in views)


def _train(trainer: pl.Trainer, model: Objective, data: BlockData, checkpoint: Path | None, status: Status) -> None:
    """Train to the end of the budget; raises as `fit_run` does."""
    module = TrainingModule(model)
    try:
        trainer.fit(module, TrainingData(data), ckpt_path=str(checkpoint) if checkpoint else None)
    except SIGTERMException:
        pass  # one that came before our handler was in its place: the run has saved at the end of its step all the same
    except Diverged as error:
        tokens, budget = error.step * _tokens_per_step(trainer, data), _progress(module, data)[1]
        snapshots = complete(status.run / SNAPSHOTS)
        good = f"its last good snapshot is {snapshots[-1]}" if snapshots else "it has no snapshot from before"
        reason = f"diverged at token {tokens:,} of {budget:,} ({error}); {good}"
        place = {"step": error.step, "tokens": tokens, "budget_tokens": budget}
        status.try_to_write(state="diverged", error=reason, **place)
        raise TrainingDiverged(f"{status.run.name} {reason}") from error
    except (MetricFailed, OtherExperiment) as error:  # says by itself what is to be done
        status.try_to_write(state="failed", error=str(error))
        raise
    except OSError as error:  # a full disk is no fault of the run: it goes on when there is room
        status.try_to_write(state="interrupted", error=str(error))
        raise
    except BaseException as error:
        status.try_to_write(state="failed", error=f"{type(error).__name__}: {error}")
        raise TrainingFailed(f"{type(error).__name__}: {error}") from error
    tokens, budget = _progress(module, data)
    state = "done" if tokens >= budget else "interrupted"
    status.write(state=state, step=trainer.global_step, tokens=tokens, budget_tokens=budget)
    if tokens < budget:
        raise Interrupted(f"stopped at {tokens:,} of {budget:,} tokens; run the same command to go on ({status.run})")


def _warn_of_lost_snapshots(run: RunSpec, model: Objective, length: int, step_tokens: int, tokens: int) -> None:
    """Name the snapshots of what has been trained that are lost or damaged: they are not made again."""
    directory, config = run.directory / SNAPSHOTS, run.evaluation
    steps = snapshot_steps(
        model.budget_tokens(length), step_tokens, config.snapshots, config.first_tokens, model.switches
    )
    wanted = [step * step_tokens for step in steps]
    whole = {number_of(path) for path in complete(directory) if not is_damaged(path)}
    begun = run_directory.record_of(run.directory).get(CONTINUED_AT, 0)  # before, the run had another budget
    if lost := [f"{at:,}" for at in wanted if begun < at <= tokens and at not in whole]:
        rank_zero_warn(f"{directory} has no whole snapshot at {', '.join(lost)} tokens; the run goes on without")


def _progress(module: TrainingModule, data: BlockData) -> tuple[int, int]:
    """Tokens read, and those of the budget in whole steps."""
    budget = module.objective.budget_tokens(data.block_length)
    tokens_per_step = module.tokens_per_step(data.tokens_per_batch)
    return module.tokens_read(data.tokens_per_batch), whole_steps(budget, tokens_per_step)


def _write_records(trainer: pl.Trainer, model: Objective, data: BlockData, run: RunSpec) -> None:
    """Write what the run is and where it takes place; keep what a sweep has written of it."""
    directory = run.directory
    durable.write_text(directory / run_directory.CONFIG, dump_yaml(run.config))
    place = provenance(trainer, run.seed)
    path = directory / run_directory.ENVIRONMENT
    threads = _threads_before(path, place["threads"])
    if threads != place["threads"]:
        rank_zero_warn(
            f"begun with {threads} threads and resumed with {place['threads']}: sums may differ in their last bits; "
            f"give --threads {threads} to repeat the run exactly"
        )
    durable.write_json(path, place)
    data.save_tokenizer(directory)
    path = directory / run_directory.RUN
    planned = run_directory.record_of(directory)
    measured = {
        "budget_tokens": model.budget_tokens(data.block_length),
        "nominal_density": model.nominal_density,
        **data.record(),
    }
    durable.write_json(path, {**run.description, **planned, **measured})


def _threads_before(environment: Path, now: int) -> int:
    """The threads that a run was begun with; those of `now` where that is not known."""
    if not environment.exists():
        return now
    try:
        return durable.read_mapping(environment).get("threads", now)
    except ValueError as error:
        rank_zero_warn(f"{error}; it is written anew, and how many threads the run was begun with is no longer known")
        return now


def run_evaluation(data: BlockData, config: Mapping[str, Any]) -> Evaluation:
    """The metrics of a run's configuration, on its data. Raises ValueError when one of them is refused."""
    return Evaluation(data, config["evaluation"]["metrics"], measured_on(config["data"]), TRAINING)


def begin_declarations(directory: Path, evaluation: Evaluation) -> None:
    """Declare what every run records, and forget what was measured in another way under names of `evaluation`, or is no
    longer as it was recorded.

    What is measured at snapshots is declared when it has been.
    """
    rows = metrics_file.read_metrics(directory)
    declared = without_unproven(rows, evaluation.without_superseded(declarations_or_none(directory)))
    declared = replace(declared, quantities={**declared.quantities, **TRAINING})
    # First that it was measured, then its rows: after a kill in between it is measured again, whatever is wanted then.
    quantities.write_declarations(directory, declared)
    metrics_file.keep_rows(directory, lambda row: row.quantity in TRAINING or is_proven(row, declared))


@contextmanager
def _stop_on_signals(stop: StopRequest) -> Iterator[None]:
    """Turn Ctrl-C, SIGTERM and SIGHUP into a request to save and stop; `nohup` has SIGHUP ignored, which stays."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    heeded = [number for number in STOP_SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]
    before = {number: signal.signal(number, stop.ask) for number in heeded}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
