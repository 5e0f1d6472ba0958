"""A run that starts from the weights of another one: which run that is, and its weights.

What a run starts from is a part of its identity by the hash of that run's settings: it is known before that run has
been trained, and is the same wherever its directory lies. The weights themselves are known by their sha256, which is
recorded as that of the initial encoder, as in any run.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, NamedTuple

import torch

from experiments.records import durable, run_directory
from experiments.records.checkpoints import OWN_NAME, SNAPSHOTS, number_of, verify
from experiments.records.proof import read_done
from objectives import Objective
from objectives.construction.identity import describe_objective

WITH_HASH = re.compile(r"(.+)-([0-9a-f]{8})")
FREE = ("dropout", "max_length")
"""Settings of the encoder that its weights do not depend on."""


class Start(NamedTuple):
    """The run that another one starts from."""

    run: Path
    name: str
    """With its hash, as its directory is called when a run or a grid makes it."""
    hash: str
    tokens: int | None
    """Those of the snapshot; None for the last one."""

    @property
    def identity(self) -> dict[str, Any]:
        """What it adds to the identity of the run that starts there."""
        return {"hash": self.hash} if self.tokens is None else {"hash": self.hash, "tokens": self.tokens}

    @property
    def words(self) -> str:
        """What the records call it."""
        return self.name if self.tokens is None else f"{self.name} at {self.tokens:,} tokens"


def find_start(path: str) -> Start:
    """The run whose directory, or a snapshot in it, lies at a path; its directory need not be there, if its name ends
    with the hash: a grid plans runs before they are trained.

    Raises:
        ValueError: when it is neither.
    """
    place = Path(path)
    is_snapshot = OWN_NAME.fullmatch(place.name) is not None and place.parent.name == SNAPSHOTS
    given = place.parent.parent if is_snapshot else place
    run = run_directory.find_run(given) or given
    if (run / run_directory.RUN).exists():
        record = durable.read_mapping(run / run_directory.RUN)
        name, digest = str(record.get("name")), str(record.get("hash"))
    elif found := WITH_HASH.fullmatch(run.name):
        name, digest = found[1], found[2]
    else:
        raise ValueError(f"there is no run at {path}; give the directory of a run, or a file of its {SNAPSHOTS}/")
    tokens = number_of(place) if is_snapshot else None
    if tokens is not None and (run / run_directory.DONE).exists() and tokens == read_done(run).tokens:
        tokens = None
    return Start(run, f"{name}-{digest}", digest, tokens)


def require_done(run: Path) -> None:
    """Raises ValueError when there is no such run, it is not done, or its records are damaged."""
    state = run_directory.run_state(run)
    if state.state == "pending":
        raise ValueError(f"there is no trained run at {run}; train it first")
    if state.state != "done":
        raise ValueError(f"the run {run} is {state.state}, and nothing starts from it before it is done {state.error}")


def snapshot_of(start: Start) -> Path:
    """The snapshot that a run starts from. Raises ValueError when its run is not done, or it is damaged."""
    require_done(start.run)
    tokens = read_done(start.run).tokens if start.tokens is None else start.tokens
    snapshot = start.run / SNAPSHOTS / f"tokens-{tokens:012d}.ckpt"
    verify(snapshot)
    return snapshot


def load_weights(model: Objective, start: Start, tokenizer: str) -> None:
    """Give an objective's encoder the weights of a snapshot.

    Args:
        tokenizer: fingerprint of that of the data.

    Raises:
        ValueError: when its run is not done, the snapshot is damaged, or encoder, vocabulary or tokenizer are others.
    """
    snapshot = snapshot_of(start)
    checkpoint = torch.load(snapshot, map_location="cpu", weights_only=True)
    theirs, ours = (one["arguments"] for one in (checkpoint["objective"], describe_objective(model)))
    for part, free in (("encoder", FREE), ("vocabulary", ("characters_per_token",))):
        for name, value in ours[part].items():
            if name not in free and theirs[part].get(name) != value:
                raise ValueError(
                    f"a run cannot start from {start.words}: its {part} has {name} {theirs[part].get(name)}, that of "
                    f"the run {value}; give both the same"
                )
    if durable.read_mapping(start.run / run_directory.PAIRING).get("tokenizer") != tokenizer:
        raise ValueError(f"a run cannot start from {start.words}: it has another tokenizer; give both the same text")
    prefix = "encoder."
    weights = {name: value for name, value in checkpoint["state_dict"].items() if name.startswith(prefix)}
    model.encoder.load_state_dict({name.removeprefix(prefix): value for name, value in weights.items()})
