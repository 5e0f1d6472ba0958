"""What a run is called, and what makes it the run it is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from experiments.evaluation.evaluation import EvaluationConfig
from experiments.records.durable import content_hash
from objectives.identity import build_arguments, import_object

NOT_IDENTITY = ("config", "results", "name", "threads")
"""Settings that say where and how fast, not what: they leave a run's hash alone."""


def describe_run(config: dict[str, Any]) -> dict[str, Any]:
    """What run_directory.RUN says of a run; the hash is that of its resolved configuration.

    Raises:
        ValueError: when a setting of the objective, of the data or of the evaluation is refused.
    """
    name = config["name"]
    if name in ("", ".", "..") or name != Path(name).name or not name.isprintable() or len(name.encode()) > 150:
        raise ValueError(f"name must be a file name of at most 150 bytes, without slashes, but is {name!r}")
    for setting in ("record_every_steps", "checkpoint_every_steps"):
        if config[setting] < 1:
            raise ValueError(f"{setting} must be at least 1, but is {config[setting]}")
    digest = content_hash({key: value for key, value in config.items() if key not in NOT_IDENTITY})
    path, arguments = config["model"]["class_path"], config["model"]["init_args"]
    length = _checked_block_length(config)
    objective = import_object(path)
    settings = build_arguments(objective, arguments)
    encoder = settings["encoder"]
    if length > encoder.max_length:
        raise ValueError(
            f"blocks of {length} tokens are longer than the encoder's max_length {encoder.max_length}; set "
            f"model.init_args.encoder.max_length to at least {length}"
        )
    return {
        "name": name,
        "hash": digest,
        "directory": f"runs/{name}-{digest}",
        "seed": config["seed_everything"],
        "arm": name.removesuffix(f"-s{config['seed_everything']}"),
        "factors": {},
        **objective.traits(settings),
    }


def _checked_block_length(config: dict[str, Any]) -> int:
    """Tokens of a block, once the settings of data and evaluation have been found good."""
    EvaluationConfig(**config["evaluation"])
    built = build_arguments(import_object(config["data"]["class_path"]), config["data"]["init_args"])
    return built["block_length"] if "block_length" in built else built["rules"].block_length
