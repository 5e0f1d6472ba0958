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

from experiments.data import BlockData
from objectives import Objective

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


def pairing(objective: Objective, data: BlockData, trainer: pl.Trainer) -> dict[str, Any]:
    """Hashes of the initial encoder, the tokenizer and the packed data, and the number of ranks."""
    return {
        "encoder": objective.initial_hash,
        **data.fingerprints,
        "world_size": trainer.world_size,
    }


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
