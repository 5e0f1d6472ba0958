"""Writes the ledger, the training loss and the proof of what was read into metrics.csv."""

from __future__ import annotations

import hashlib
import struct
import time
from argparse import Namespace
from pathlib import Path
from typing import Any

import pytorch_lightning as pl
from pytorch_lightning.loggers import Logger
from pytorch_lightning.utilities import rank_zero_only

from experiments.records import metrics_file
from objectives import Batch, Objective


class MetricsLogger(Logger):
    """A Lightning logger whose file only ever grows: fixed columns, one line a value, flushed at each call.

    (Lightning's CSVLogger deletes the file of a resumed run and rewrites history when a new quantity appears.)
    """

    def __init__(self, run: Path) -> None:
        super().__init__()
        self.path = run / metrics_file.METRICS

    @property
    def name(self) -> str:
        return self.path.parent.name

    @property
    def version(self) -> str:
        return ""

    def log_hyperparams(self, params: dict[str, Any] | Namespace, *args: Any, **kwargs: Any) -> None:
        """Nothing: the run's config.yaml has them all."""

    @rank_zero_only
    def log_metrics(self, metrics: dict[str, float], step: int | None = None) -> None:
        """Append every value that comes with its axes ("axis/tokens", ...); others have no place on a curve."""
        if all(f"axis/{axis}" in metrics for axis in metrics_file.AXES):
            values = {name: value for name, value in metrics.items() if not name.startswith("axis/")}
            at = (int(metrics["axis/tokens"]), int(metrics["axis/targets"]))
            spent = (float(metrics["axis/flops"]), float(metrics["axis/seconds"]))
            metrics_file.append_rows(
                self.path,
                [metrics_file.Row(step or 0, *at, *spent, name, float(value)) for name, value in values.items()],
            )


class Recorder(pl.Callback):
    """Times each step, follows the stream of blocks, and records every `every_steps` optimiser steps."""

    def __init__(self, every_steps: int) -> None:
        self.every_steps = every_steps
        self.stream = bytes(8)
        self.before = {"nats": 0.0, "targets": 0.0}

    def on_train_batch_start(self, trainer: pl.Trainer, objective: Any, batch: Batch, batch_idx: int) -> None:
        self.started = time.perf_counter()

    def on_train_batch_end(
        self, trainer: pl.Trainer, objective: Any, outputs: Any, batch: Batch, batch_idx: int
    ) -> None:
        for epoch, index in zip(batch.epoch_B.tolist(), batch.index_B.tolist(), strict=True):
            self.stream = hashlib.blake2b(self.stream + struct.pack("<qq", epoch, index), digest_size=8).digest()
        # After the indices have come from the device, and with them all that was queued there.
        objective.ledger.update(seconds=time.perf_counter() - self.started)
        if step_ended(trainer, batch_idx) and trainer.global_step % self.every_steps == 0:
            self.record(trainer, objective)

    def record(self, trainer: pl.Trainer, objective: Objective, evaluation: dict[str, float] | None = None) -> None:
        """Write the ledger and the loss since the last record, with the values of an evaluation, if any."""
        totals = objective.ledger.compute()
        targets = totals["targets"] - self.before["targets"]
        window = {"train/loss": (totals["nats"] - self.before["nats"]) / targets} if targets else {}
        self.before = {name: totals[name] for name in self.before}
        axes = {"tokens": "tokens", "targets": "targets", "flops": "flops", "seconds": "seconds"}
        counted = ("selected", "corrupted", "kept", "targets", "density")
        metrics = {
            **{f"axis/{axis}": totals[name] for axis, name in axes.items()},
            **window,
            "train/learning_rate": trainer.optimizers[0].param_groups[0]["lr"],
            **{f"ledger/{name}": totals[name] for name in counted},
            "stream/hash": float(int.from_bytes(self.stream[:6], "big")),
            **(evaluation or {}),
        }
        for logger in trainer.loggers:
            logger.log_metrics(metrics, trainer.global_step)

    def state_dict(self) -> dict[str, Any]:
        return {"stream": self.stream.hex(), "before": dict(self.before)}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.stream, self.before = bytes.fromhex(state["stream"]), dict(state["before"])


def step_ended(trainer: pl.Trainer, batch_idx: int) -> bool:
    """True at the end of the last micro-batch of an optimiser step."""
    return (batch_idx + 1) % trainer.accumulate_grad_batches == 0
