"""What a run is called, and what makes it the run it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

from experiments.data.base import check_sizes
from experiments.data.settings import trained_on
from experiments.evaluation.evaluation import EvaluationConfig
from experiments.records.durable import content_hash
from experiments.records.run_directory import RUNS
from experiments.training.parents.warm_start import Start, find_start
from objectives import Objective, Traits, Vocabulary
from objectives.construction.class_paths import import_object
from objectives.construction.identity import build_arguments, shortened

MOST_SEED = 2**32 - 1
"""That of NumPy's generators."""
MOST_THREADS = 256
LEAST = {"batch_size": 1, "validation_blocks": 1, "num_workers": 0, "seed": 0}
"""What stands for a setting that a kind of data does not have."""
IDENTITY_VERSION = 1
"""Part of every hash. Settings that equal their defaults are not, so raise it when a default changes."""
TRAINER_DEFAULTS = {
    "accelerator": "auto",
    "devices": 1,
    "max_epochs": -1,
    "logger": False,
    "enable_checkpointing": False,
    "enable_model_summary": False,
    "enable_progress_bar": False,
    "num_sanity_val_steps": 0,
    "use_distributed_sampler": False,
}
NO_WEIGHTS = (
    "logger",
    "enable_progress_bar",
    "enable_model_summary",
    "enable_checkpointing",
    "enable_autolog_hparams",
    "log_every_n_steps",
    "profiler",
    "detect_anomaly",
    "default_root_dir",
    "model_registry",
    "inference_mode",
    "num_sanity_val_steps",
    "val_check_interval",
    "check_val_every_n_epoch",
    "limit_val_batches",
    "limit_test_batches",
    "limit_predict_batches",
)
"""Settings of the Trainer that no weight depends on."""
SMALLEST_VOCABULARY = Vocabulary(size=6, pad=0, unknown=1, cls=2, sep=3, mask=4, specials=(0, 1, 2, 3, 4))
"""Stands for that of the data, which is not made yet."""


@dataclass(frozen=True)
class RunSpec:
    """One run: its name, the hash of its settings, its directory, and what its records say of it."""

    name: str
    hash: str
    results: Path
    traits: Traits
    """What the objective says of itself."""
    config: dict[str, Any]
    """Every setting, as plain values."""
    evaluation: EvaluationConfig
    start: Start | None = None
    """The run from whose weights it starts."""
    continues: Start | None = None
    """The run that it continues."""

    @classmethod
    def from_config(cls, config: dict[str, Any], lightning: Mapping[str, Any]) -> RunSpec:
        """The run of a resolved configuration; the hash is that of its identity.

        Args:
            lightning: Lightning's own defaults of the Trainer's settings.

        Raises:
            ValueError: when a setting of the objective, of the data or of the evaluation is refused.
        """
        name = config["name"]
        if name in ("", ".", "..") or name != Path(name).name or not name.isprintable() or len(name.encode()) > 150:
            raise ValueError(f"name must be a file name of at most 150 bytes, without slashes, but is {name!r}")
        for setting in ("record_every_steps", "checkpoint_every_steps"):
            if config[setting] < 1:
                raise ValueError(f"{setting} must be at least 1, but is {config[setting]}")
        check_seed(config["seed_everything"])
        if not 0 <= config["threads"] <= MOST_THREADS:
            raise ValueError(f"threads must be from 0 to {MOST_THREADS}, but is {config['threads']}")
        evaluation = EvaluationConfig.from_plain(config["evaluation"])
        traits = _checked_traits(config["model"], _checked_block_length(config["data"]))
        parents, digest = (start_of(config), continued_by(config)), content_hash(identity(config, lightning))
        return cls(name, digest, Path(config["results"]), traits, config, evaluation, *parents)

    @property
    def directory(self) -> Path:
        return self.results / self.description["directory"]

    @property
    def seed(self) -> int:
        return self.config["seed_everything"]

    @property
    def description(self) -> dict[str, Any]:
        """What run.json says of it before it begins; "directory" is relative to the results."""
        return {
            "name": self.name,
            "hash": self.hash,
            "directory": f"{RUNS}/{self.name}-{self.hash}",
            "seed": self.seed,
            "arm": self.name.removesuffix(f"-s{self.seed}"),
            "factors": {},
            **({"start": self.start.words} if self.start else {}),
            **({"continues": self.continues.words} if self.continues else {}),
            **self.traits.record(),
        }


def check_seed(seed: int) -> None:
    """Raises ValueError when a seed is none that every generator takes."""
    if not 0 <= seed <= MOST_SEED:
        raise ValueError(f"seed_everything goes from 0 to {MOST_SEED:,}, but is {seed}")


def start_of(config: Mapping[str, Any]) -> Start | None:
    """The run that a run starts from; raises as `find_start` does."""
    path = config["model"]["init_args"].get("start")
    return None if path is None else find_start(path)


def continued_by(config: Mapping[str, Any]) -> Start | None:
    """The run that a run continues; raises as `find_start` does, and ValueError for a snapshot."""
    path = config.get("continue")
    found = None if path is None else find_start(path)
    if found is not None and found.tokens is not None:
        raise ValueError(f"continue takes the directory of a run, but is {path}; a run may start from a snapshot")
    return found


def identity(config: Mapping[str, Any], lightning: Mapping[str, Any]) -> dict[str, Any]:
    """What determines the weights of a run, of its resolved configuration as plain values.

    Neither what is measured, recorded or shown, nor any value that equals its default, of the Trainer's that of
    `lightning`: a new setting that is off by default leaves the hash of every run alone. A run that it starts from or
    continues is known by its hash alone.
    """
    settings = {name: value for name, value in config["model"]["init_args"].items() if name != "start"}
    start, continued = start_of(config), continued_by(config)
    return {
        "version": IDENTITY_VERSION,
        "seed_everything": config["seed_everything"],
        "model": shortened({**config["model"], "init_args": settings}),
        "data": trained_on(config["data"]),
        "trainer": _trainer_identity(config["trainer"], {**lightning, **TRAINER_DEFAULTS}),
        **({"start": start.identity} if start else {}),
        **({"continue": continued.identity} if continued else {}),
    }


def _trainer_identity(settings: Mapping[str, Any], defaults: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: shortened(value)
        for name, value in settings.items()
        if name not in NO_WEIGHTS and value != defaults.get(name)
    }


def _checked_traits(model: dict[str, Any], block_length: int | None) -> Traits:
    """What the objective says of itself, once its settings have been found good: it is built as small as can be."""
    cls: type[Objective] = import_object(model["class_path"])
    settings = build_arguments(cls, model["init_args"])
    encoder = settings["encoder"]
    if block_length is not None and block_length > encoder.max_length:
        raise ValueError(
            f"blocks of {block_length} tokens are longer than the encoder's max_length {encoder.max_length}; set "
            f"model.init_args.encoder.max_length to at least {block_length}"
        )
    smallest = replace(encoder, width=2, depth=1, heads=1)
    with torch.random.fork_rng(devices=[]):
        return cls(**{**settings, "encoder": smallest, "vocabulary": SMALLEST_VOCABULARY}).traits


def _checked_block_length(data: dict[str, Any]) -> int | None:
    """Tokens of a block, where the settings of the data say so, once they have been found good."""
    # What has a class path, as a corpus, is looked for where the data is made.
    settings = {
        name: value
        for name, value in data["init_args"].items()
        if not (isinstance(value, dict) and "class_path" in value)
    }
    cls = import_object(data["class_path"])
    built = build_arguments(cls, settings)
    length = built["block_length"] if "block_length" in built else getattr(built.get("rules"), "block_length", None)
    if len(settings) == len(data["init_args"]):
        cls(**built)  # refuses what it refuses; nothing is made or read yet
    elif length is not None:
        check_sizes(length, **{name: built.get(name, least) for name, least in LEAST.items()})
    return length
