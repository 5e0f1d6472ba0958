"""What happens around the steps of a run: checkpoints, snapshots with their evaluation, and the status file."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytorch_lightning as pl
import torch
from pytorch_lightning.utilities import rank_zero_only

from experiments.evaluation.evaluation import EvaluationConfig
from experiments.records import durable, run_directory
from experiments.records.checkpoints import SNAPSHOTS
from experiments.records.quantities import Declarations, read_declarations, write_declarations
from experiments.training.checkpoint_files import remove_old
from experiments.training.recorder import Recorder, step_ended
from objectives import Batch, Objective
from objectives.lightning_module import TrainingModule
from objectives.training.optimizer import steps_until

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""Ctrl-C, a polite kill, and a terminal that is closed."""


class StopRequest:
    """Set by a signal handler; the run then saves at the end of its step and stops."""

    def __init__(self) -> None:
        self.signal: int | None = None

    def ask(self, signal_number: int, frame: object = None) -> None:
        """The signal handler."""
        self.signal = signal_number


class Snapshots(pl.Callback):
    """At log-spaced token counts: evaluate, record, and keep the weights."""

    def __init__(
        self,
        run: Path,
        recorder: Recorder,
        measure: Callable[[Objective, Declarations, int], tuple[dict[str, float], Declarations]],
        config: EvaluationConfig,
    ) -> None:
        self.run, self.recorder, self.measure, self.config = run, recorder, measure, config

    def on_train_batch_end(self, trainer: pl.Trainer, module: Any, outputs: Any, batch: Batch, batch_idx: int) -> None:
        batch_tokens = batch.tokens_BT.numel()
        budget = module.objective.budget_tokens(batch.tokens_BT.shape[1])
        steps = snapshot_steps(
            budget,
            module.tokens_per_step(batch_tokens),
            self.config.snapshots,
            self.config.first_tokens,
            module.objective.switches,
        )
        if step_ended(trainer, batch_idx) and trainer.global_step in steps:
            self.recorder.settle(module)
            tokens = module.tokens_read(batch_tokens)
            with torch.compiler.set_stance("force_eager"):  # other shapes would be compiled anew
                values, declared = self.measure(module.objective, read_declarations(self.run), tokens)
            self.recorder.record(trainer, module, values)
            if trainer.is_global_zero:
                write_declarations(self.run, declared)
            trainer.save_checkpoint(self.run / SNAPSHOTS / f"tokens-{tokens:012d}.ckpt", weights_only=True)


def snapshot_steps(
    budget: int, tokens_per_step: int, count: int, first: int | None = None, switches: Iterable[float] = ()
) -> list[int]:
    """Steps at which `count` log-spaced token counts from `first` (a 64th of the budget when None) to the budget are
    reached, and those after which the objective switches; fewer where two fall on one step."""
    last = -(-budget // tokens_per_step)
    start = min(first if first is not None else budget / 64, budget)
    spaced = (start * (budget / start) ** (index / max(count - 1, 1)) for index in range(count - 1))
    before = {min(last, steps_until(share, budget, tokens_per_step)) for share in switches}
    return sorted({max(1, min(last, round(tokens / tokens_per_step))) for tokens in spaced} | before | {last})


class Checkpoints(pl.Callback):
    """Saves all of a run's state every `every_steps` steps, at its end, and when a stop is requested."""

    def __init__(self, directory: Path, every_steps: int, stop: StopRequest) -> None:
        self.directory, self.every_steps, self.stop = directory, every_steps, stop
        self.restored: dict[str, Any] | None = None

    def on_train_start(self, trainer: pl.Trainer, module: Any) -> None:
        # Lightning has put its own handler before ours by now, and would leave in the middle of a step.
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, self.stop.ask)
        if self.restored is not None and self.budget_spent(trainer, module):
            trainer.should_stop = True

    def on_train_batch_start(self, trainer: pl.Trainer, module: Any, batch: Batch, batch_idx: int) -> None:
        # As late as this, because Lightning and the loaders draw numbers while they set up.
        if self.restored is not None:
            torch.set_rng_state(self.restored["cpu"])
            if self.restored["cuda"]:
                torch.cuda.set_rng_state_all(self.restored["cuda"])
            self.restored = None

    def on_train_batch_end(self, trainer: pl.Trainer, module: Any, outputs: Any, batch: Batch, batch_idx: int) -> None:
        if not step_ended(trainer, batch_idx):
            return
        stopping = trainer.strategy.reduce_boolean_decision(self.stop.signal is not None, all=False)
        if stopping or trainer.global_step % self.every_steps == 0 or self.budget_spent(trainer, module):
            module.gradient_watch.check()
            path = self.directory / f"step-{trainer.global_step:09d}.ckpt"
            trainer.save_checkpoint(path, weights_only=False)
            if trainer.is_global_zero:
                remove_old(self.directory)
        if stopping:
            trainer.should_stop = True

    def budget_spent(self, trainer: pl.Trainer, module: TrainingModule) -> bool:
        """True when nothing is left to train."""
        data = trainer.datamodule.blocks  # type: ignore[attr-defined]
        return module.tokens_read(data.tokens_per_batch) >= module.objective.budget_tokens(data.block_length)

    def state_dict(self) -> dict[str, Any]:
        cuda = torch.cuda.get_rng_state_all() if torch.cuda.is_available() else []
        return {"cpu": torch.get_rng_state(), "cuda": cuda}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.restored = state


def whole_steps(budget: int, tokens_per_step: int) -> int:
    """The tokens that a budget is rounded up to: those that have been read at its end."""
    return -(-budget // tokens_per_step) * tokens_per_step


class Status(pl.Callback):
    """Keeps status.json up to date, at most once a second; tokens per second are those since this process trains."""

    def __init__(self, run: Path) -> None:
        self.run = run
        self.written = 0.0
        self.values: dict[str, Any] = {"state": "running", "pid": os.getpid()}
        self.before: tuple[int, float] | None = None
        """Tokens and seconds of training when this process began."""

    def on_train_batch_start(self, trainer: pl.Trainer, module: Any, batch: Batch, batch_idx: int) -> None:
        if self.before is None:
            self.before = module.tokens_read(batch.tokens_BT.numel()), module.ledger.seconds.item()

    def on_train_batch_end(self, trainer: pl.Trainer, module: Any, outputs: Any, batch: Batch, batch_idx: int) -> None:
        if time.monotonic() - self.written > 1:
            batch_tokens, length = batch.tokens_BT.numel(), batch.tokens_BT.shape[1]
            tokens, (before, started) = module.tokens_read(batch_tokens), self.before or (0, 0.0)
            seconds = module.ledger.seconds.item() - started
            self.write(
                step=trainer.global_step,
                tokens=tokens,
                budget_tokens=whole_steps(module.objective.budget_tokens(length), module.tokens_per_step(batch_tokens)),
                tokens_per_second=(tokens - before) / seconds if seconds else 0.0,
            )

    def try_to_write(self, **values: Any) -> None:
        """As `write`, of a run that has failed: what it failed by is not to be hidden by a disk that is full."""
        try:
            self.write(**values)
        except OSError as error:
            print(f"its status was not written: {error}", file=sys.stderr)

    @rank_zero_only
    def write(self, **values: Any) -> None:
        self.values.update(values)
        self.written = time.monotonic()
        durable.write_json(self.run / run_directory.STATUS, self.values)
