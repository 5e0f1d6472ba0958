"""Records the ledger, the training loss and the hash of what was read."""

from __future__ import annotations

import hashlib
import math
import struct
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytorch_lightning as pl
import torch

from experiments.records import metrics_file
from experiments.records.proof import TrainingProof, training_rows
from experiments.records.quantities import TRAINING
from objectives import Batch, Diverged
from objectives.lightning_module import TrainingModule

LEDGER = tuple(name.removeprefix("ledger/") for name in TRAINING if name.startswith("ledger/"))
"""What is recorded of the ledger's totals, besides the axes."""


class Recorder(pl.Callback):
    """Times each step, follows the stream of blocks, and records every `every_steps` optimiser steps.

    What it records goes to metrics.csv and stream.csv of the run, and to the Trainer's loggers if it has any.
    """

    def __init__(self, run: Path, every_steps: int) -> None:
        self.run, self.every_steps = run, every_steps
        self.started = 0.0
        self.recorded_step = 0
        self.stream = bytes(8)
        self.before = {"nats": 0.0, "weight": 0.0}
        self.proof = TrainingProof()
        """Of all that has been recorded of the training."""

    def on_train_batch_start(self, trainer: pl.Trainer, module: Any, batch: Batch, batch_idx: int) -> None:
        self.started = time.perf_counter()

    def on_train_batch_end(self, trainer: pl.Trainer, module: Any, outputs: Any, batch: Batch, batch_idx: int) -> None:
        for epoch, index in zip(batch.epoch_B.tolist(), batch.index_B.tolist(), strict=True):
            self.stream = hashlib.blake2b(self.stream + struct.pack("<qq", epoch, index), digest_size=8).digest()
        module.ledger.update(seconds=time.perf_counter() - self.started)
        if step_ended(trainer, batch_idx) and trainer.global_step % self.every_steps == 0:
            self.record(trainer, module)

    def settle(self, module: TrainingModule) -> None:
        """Wait for a device that works by itself, and count the time: without, a step is only asked for.

        Raises:
            Diverged: when the gradient of a step was not finite.
        """
        if module.device.type != "cpu":
            started = time.perf_counter()
            torch.accelerator.synchronize()
            module.ledger.update(seconds=time.perf_counter() - started)
        module.gradient_watch.check()

    def record(
        self, trainer: pl.Trainer, module: TrainingModule, evaluation: Mapping[str, float] | None = None
    ) -> None:
        """Write the ledger and the loss since the last record, unless this step has them, and what was evaluated.

        Raises:
            Diverged: when the loss or the gradient of a step was not finite.
        """
        self.settle(module)
        totals = module.ledger.compute()  # over all ranks, so all ranks come here
        step = trainer.global_step
        at = metrics_file.place(totals)
        values, hashes = dict(evaluation or {}), []
        if step != self.recorded_step:
            values = self._training_values(trainer, totals) | values
            hashes = [metrics_file.StreamHash(step, self.stream.hex())]
            self.recorded_step = step
        rows = [metrics_file.Row(step, *at, quantity, float(value)) for quantity, value in values.items()]
        if trainer.is_global_zero:
            metrics_file.append_rows(self.run / metrics_file.STREAM, hashes)
            metrics_file.append_rows(self.run / metrics_file.METRICS, rows)
        self.proof = TrainingProof(
            at[0], self.proof.rows.extended(training_rows(rows)), self.proof.stream.extended(hashes)
        )
        if not math.isfinite(values.get("train/loss", 0.0)):
            raise Diverged(f"the training loss is {values['train/loss']}", step)
        for logger in trainer.loggers:
            logger.log_metrics({**dict(zip(metrics_file.AXES, at, strict=True)), **values}, step)
            logger.save()

    def _training_values(self, trainer: pl.Trainer, totals: Mapping[str, float]) -> dict[str, float]:
        weight = totals["weight"] - self.before["weight"]
        loss = {"train/loss": (totals["nats"] - self.before["nats"]) / weight} if weight else {}
        self.before = {name: totals[name] for name in self.before}
        return {
            **loss,
            "train/learning_rate": trainer.optimizers[0].param_groups[0]["lr"],
            **{f"ledger/{name}": totals[name] for name in LEDGER},
        }

    def state_dict(self) -> dict[str, Any]:
        return {"stream": self.stream.hex(), "before": dict(self.before), "proof": self.proof.plain()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.stream, self.before = bytes.fromhex(state["stream"]), dict(state["before"])
        self.proof = TrainingProof.from_plain(state["proof"])


def step_ended(trainer: pl.Trainer, batch_idx: int) -> bool:
    """True at the end of the last micro-batch of an optimiser step."""
    return (batch_idx + 1) % trainer.accumulate_grad_batches == 0
