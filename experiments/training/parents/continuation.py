"""A finished run continued to a larger budget: a run of its own, which begins with the other's records and last state.

From there on it goes on as that checkpoint would, under the schedules of the larger budget: the learning rate jumps to
where a run of that budget would be, and so does whatever an objective changes over the budget.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from experiments.records import durable, metrics_file, quantities, run_directory
from experiments.records.checkpoints import CHECKPOINTS, SNAPSHOTS, complete, digest_file, number_of, verify
from experiments.strict_yaml import leaves, read_yaml
from experiments.training.checkpoint_files import DurableCheckpointIO, resume_from
from experiments.training.parents.warm_start import Start, require_done
from experiments.training.run_spec import identity
from objectives import Objective
from objectives.construction.identity import describe_objective

RECORDS = (
    metrics_file.METRICS,
    metrics_file.STREAM,
    quantities.QUANTITIES,
    run_directory.PAIRING,
    run_directory.ENVIRONMENT,
)
CONTINUED_AT = "continued_at_tokens"
"""What run.json calls the tokens that had been read when a run was continued."""
MAY_DIFFER = ("model.init_args.budget.", "continue.")


def check_continuation(config: Mapping[str, Any], parent: Start) -> None:
    """Raises ValueError when the run that is continued is not done, or differs in more than its budget."""
    require_done(parent.run)
    ours, theirs = (
        {path: value for path, value in leaves(identity(one, {})) if not path.startswith(MAY_DIFFER)}
        for one in (config, read_yaml(parent.run / run_directory.CONFIG))
    )
    unset = "its default"
    for setting in sorted(ours.keys() | theirs.keys()):
        if (here := ours.get(setting, unset)) != (there := theirs.get(setting, unset)):
            raise ValueError(
                f"{parent.name} can be continued with a larger budget and another evaluation alone, but {setting} is "
                f"{here}, and was {there}"
            )


def begin_where_it_ended(run: Path, parent: Start, model: Objective, block_length: int) -> None:
    """Copy what a finished run has recorded, its snapshots, and the last of its checkpoints, which makes it count.

    Raises:
        ValueError: when the budget of `model` has been read already, or the run's checkpoints are damaged.
    """
    found = resume_from(parent.run)
    if found.checkpoint is None:
        raise ValueError(f"{parent.run} cannot be continued: it has no checkpoint any more")
    if (budget := model.budget_tokens(block_length)) <= found.proof.tokens:
        raise ValueError(
            f"{parent.name} has read {found.proof.tokens:,} tokens already; continue it with a budget of more than "
            f"that, not {budget:,}"
        )
    record = {**run_directory.record_of(run), CONTINUED_AT: found.proof.tokens}
    durable.write_json(run / run_directory.RUN, record)
    for name in RECORDS:
        _copy(parent.run / name, run / name)
    (run / SNAPSHOTS).mkdir(exist_ok=True)
    for snapshot in complete(parent.run / SNAPSHOTS):
        if number_of(snapshot) <= found.proof.tokens:
            verify(snapshot)
            for file in (snapshot, digest_file(snapshot)):
                _copy(file, run / SNAPSHOTS / file.name)
    checkpoint = torch.load(found.checkpoint, map_location="cpu", weights_only=True)
    checkpoint["objective"] = describe_objective(model)  # that of the larger budget
    DurableCheckpointIO().save_checkpoint(checkpoint, run / CHECKPOINTS / found.checkpoint.name)


def _copy(source: Path, target: Path) -> None:
    if source.exists():
        with durable.replacing(target) as temporary:
            shutil.copyfile(source, temporary)
