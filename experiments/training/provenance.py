"""Where a run took place, and what has to be equal for two runs to be a pair."""

from __future__ import annotations

import hashlib
import platform
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import pytorch_lightning as pl
import torch
from pytorch_lightning.utilities import rank_zero_warn

from experiments.data import BlockData
from experiments.records import durable, run_directory
from objectives import Batch
from objectives.construction.identity import state_hash

PACKAGES = (
    "clm-vs-mlm",
    "torch",
    "pytorch-lightning",
    "torchmetrics",
    "tokenizers",
    "datasets",
    "numpy",
    "scikit-learn",
)


def provenance(trainer: pl.Trainer, seed: int) -> dict[str, Any]:
    """Code version, packages, threads, device and seed of a run."""
    source = Path(__file__).parent
    difference = _git(source, "diff", "HEAD")
    return {
        "git_commit": _git(source, "rev-parse", "HEAD"),
        "dirty_hash": hashlib.sha256(difference.encode()).hexdigest()[:16] if difference else None,
        "packages": {name: _version(name) for name in PACKAGES},
        "python": sys.version.split()[0],
        "platform": platform.platform(),
        "threads": torch.get_num_threads(),
        "device": str(trainer.strategy.root_device),
        "seed": seed,
    }


class OtherExperiment(ValueError):
    """The run was begun with other data or weights than it has now."""


class Pairing(pl.Callback):
    """Hashes the encoder in the moment before the first step, whatever its constructor or a hook has made of it, and
    writes pairing.json; checkpoints carry it on."""

    def __init__(self, run: Path, data: BlockData, world_size: int, start: str | None = None) -> None:
        self.run = run
        self.proof: dict[str, Any] = {**data.fingerprints, "world_size": world_size}
        if start is not None:
            self.proof["start"] = start

    def check_data(self, resumed: bool) -> None:
        """Raises OtherExperiment when the run was begun with other data, as far as its directory tells, and ValueError
        when it does not tell and no checkpoint does."""
        try:
            self._check(self._written())
        except OtherExperiment:
            raise
        except ValueError as error:
            if not resumed:
                raise
            rank_zero_warn(f"{error}; it is written anew, as the checkpoint has it")
            self._file.unlink()

    def on_fit_start(self, trainer: pl.Trainer, module: Any) -> None:
        """Write again what a checkpoint has carried on, where the file was lost."""
        if trainer.is_global_zero and "encoder" in self.proof and not self._file.exists():
            durable.write_json(self._file, self.proof)

    def on_train_batch_start(self, trainer: pl.Trainer, module: Any, batch: Batch, batch_idx: int) -> None:
        if "encoder" in self.proof:
            return
        self.proof = {"encoder": state_hash(module.objective.encoder), **self.proof}
        self._check(self._written())  # on all ranks, or the others would wait for the one that has left
        if trainer.is_global_zero:
            durable.write_json(self._file, self.proof)

    def state_dict(self) -> dict[str, Any]:
        return dict(self.proof)

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self._check(state)
        self.proof = dict(state)

    @property
    def _file(self) -> Path:
        return self.run / run_directory.PAIRING

    def _written(self) -> dict[str, Any]:
        return durable.read_mapping(self._file) if self._file.exists() else {}

    def _check(self, before: dict[str, Any]) -> None:
        if changed := [name for name in self.proof if before.get(name, self.proof[name]) != self.proof[name]]:
            raise OtherExperiment(
                f"{self.run} was begun with another {' and '.join(changed)}; resuming would mix two experiments. "
                f"Restore what it was begun with, or move the directory away to start again"
            )


def _git(directory: Path, *arguments: str) -> str | None:
    """The output of a git command; None outside a checkout, or without git."""
    command = ["git", "-C", str(directory), *arguments]
    try:
        done = subprocess.run(command, capture_output=True, encoding="utf-8", errors="replace", timeout=20, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip() or None


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
