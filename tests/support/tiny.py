"""A run small enough for tests: a made-up text file, and the configuration of a run on it."""

from __future__ import annotations

import os
import random
import signal
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml

from experiments.records import metrics_file, run_directory
from experiments.records.checkpoints import complete
from experiments.sweeps.grid import merged
from experiments.training.callbacks import Checkpoints

WORDS = ["the", "old", "young", "cat", "dog", "bird", "tree", "river", "house", "sees", "likes", "hears", "near"]


METRICS = [
    "experiments.evaluation.ValidationLoss",
    {"class_path": "experiments.evaluation.Cloze", "init_args": {"rates": [0.15, 0.5]}},
    "experiments.evaluation.LinearProbe",
    "experiments.evaluation.MajorityClass",
    "experiments.evaluation.BagOfTokens",
    "experiments.evaluation.UntrainedEncoder",
    "experiments.evaluation.BayesAccuracy",
    {"class_path": "experiments.evaluation.WordSwap", "init_args": {"pairs": 4}},
]
"""The default ones, with less to measure."""


RULES = {
    "class_path": "experiments.data.GeneratedData",
    "init_args": {
        "rules": {"states": 4, "symbols": 8, "length": 14, "seed": 1},
        "batch_size": 4,
        "validation_blocks": 12,
        "probe_train": 20,
        "probe_test": 10,
    },
}
"""Data whose rules are known, in the place of a run's text."""


def write_text(path: Path, lines: int = 300, seed: int = 0) -> Path:
    """A text file of random sentences, one a line."""
    draw = random.Random(seed)
    sentences = (" ".join(draw.choices(WORDS, k=draw.randint(6, 14))) for _ in range(lines))
    path.write_text("".join(f"{sentence}.\n" for sentence in sentences), encoding="utf-8")
    return path


def run_config(text: Path, objective: str = "MLM", **overrides: Any) -> dict[str, Any]:
    """Configuration of a run of 30 steps of 4 blocks of 16 tokens; `overrides` may have dotted keys."""
    config = {
        "seed_everything": 1,
        "threads": 1,
        "record_every_steps": 4,
        "checkpoint_every_steps": 5,
        "model": {
            "class_path": f"objectives.{objective}",
            "init_args": {
                "encoder": {"width": 16, "depth": 2, "heads": 2, "max_length": 64},
                "budget": {"tokens": 30 * 4 * 16},
                "optimizer": {"learning_rate": 0.01},
            },
        },
        "data": {
            "class_path": "experiments.data.TextData",
            "init_args": {
                "corpus": {
                    "class_path": "experiments.corpora.LocalText",
                    "init_args": {"path": str(text), "validation": 0.2},
                },
                "tokenizer": {"kind": "bpe", "size": 300},
                "block_length": 16,
                "batch_size": 4,
                "validation_blocks": 8,
            },
        },
        "evaluation": {"snapshots": 3, "metrics": METRICS},
    }
    return merged(config, overrides)


def grid_base(text: Path, objective: str = "MLM", **overrides: Any) -> dict[str, Any]:
    """The same configuration as the base of a grid, which has seeds of its own."""
    config = run_config(text, objective, **overrides)
    del config["seed_everything"]
    return config


def fit_arguments(config: dict[str, Any], results: Path, name: str = "tiny") -> list[str]:
    """Command line of `fit` for a configuration."""
    return ["fit", "--config", yaml.safe_dump(config), "--results", str(results), "--name", name]


def only_run(results: Path) -> Path:
    """The directory of the one run below a directory of results."""
    (run,) = (results / "runs").iterdir()
    return run


def outcome(run: Path) -> tuple[Any, ...]:
    """All that must not depend on interruptions: the rows without their seconds, the stream, and every weight kept."""
    rows = [row._replace(seconds=0.0) for row in metrics_file.read_metrics(run)]
    stream = metrics_file.read_stream(run)
    assert {one.step for one in stream} == {row.step for row in rows}
    weights = {path.name: torch.load(path, weights_only=True) for path in complete(run / "snapshots")}
    state = {
        f"{name} {key}": value.numpy().tobytes()
        for name, snapshot in weights.items()
        for key, value in snapshot["state_dict"].items()
    }
    return [*rows, *stream], state


def half_done(run: Path) -> None:
    """Put a run back to a checkpoint before its last step."""
    (run / run_directory.DONE).unlink()
    for path in (complete(run / "checkpoints")[-1], complete(run / "snapshots")[-1]):
        path.unlink()


def stop_at(monkeypatch: pytest.MonkeyPatch, steps: Iterable[int]) -> None:
    """Let a run be stopped by SIGTERM in some of its steps, once in each."""
    left, original = list(steps), Checkpoints.on_train_batch_end

    def stop_on_the_way(self: Checkpoints, trainer: Any, *rest: Any) -> None:
        if left and trainer.global_step == left[0]:
            left.pop(0)
            os.kill(os.getpid(), signal.SIGTERM)
        original(self, trainer, *rest)

    monkeypatch.setattr(Checkpoints, "on_train_batch_end", stop_on_the_way)
