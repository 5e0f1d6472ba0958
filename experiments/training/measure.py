"""Measures at the saved snapshots of a run what its metrics have not measured there yet."""

from __future__ import annotations

import sys
from pathlib import Path

import torch

from experiments.data import BlockData
from experiments.evaluation.evaluation import Evaluation, unmeasured
from experiments.records import durable, metrics_file, run_directory
from experiments.records.checkpoints import number_of, verify
from experiments.records.proof import damage
from experiments.records.quantities import read_declarations, write_declarations
from experiments.strict_yaml import dump_yaml
from experiments.training.checkpoint_files import remove_unfinished
from experiments.training.command_line import ObjectiveCLI
from experiments.training.loop import begin_declarations, locked, run_evaluation
from experiments.training.run_spec import RunSpec
from objectives import load_objective


def measure_run(run: Path, cli: ObjectiveCLI) -> int:
    """Measure what is missing in a run's directory by the metrics of its configuration, and record it beside the rest.

    The number of snapshots at which something was missing. Stopped at any moment, it goes on where it was when called
    again. On the device that the run was trained on, where there is one.

    Raises:
        ValueError: when another process works on the run, a snapshot is damaged, the data is no longer what the run was
            trained with, or what training recorded is not whole.
    """
    check_run(run, cli.run)
    if not unmeasured(run, cli.run.config):
        return 0
    with locked(run):
        remove_unfinished(run)
        data = cli.build_data()
        _check_data(run, data)
        snapshots = unmeasured(run, cli.run.config)
        evaluation = run_evaluation(data, cli.run.config)
        for snapshot in snapshots:
            verify(snapshot)
        device = _device_of(run)
        config = dump_yaml(cli.run.config)
        durable.write_text(run / run_directory.CONFIG, config)
        begin_declarations(run, evaluation)
        for number, snapshot in enumerate(snapshots, start=1):
            print(f"{run.name}: measuring snapshot {number} of {len(snapshots)}", file=sys.stderr)
            _measure_snapshot(run, snapshot, evaluation, device)
    return len(snapshots)


def check_run(run: Path, spec: RunSpec) -> None:
    """Raises ValueError when what a run has recorded is damaged, or is of a run with other settings than those of its
    evaluation."""
    if (run / run_directory.DONE).exists() and (problem := damage(run)):
        raise ValueError(f"the records of {run} are damaged: {problem}")
    recorded = durable.read_mapping(run / run_directory.RUN)
    if (recorded.get("name"), recorded.get("hash")) != (spec.name, spec.hash):
        raise ValueError(f"{run} was trained with other settings; only those of its evaluation can be changed")


def _device_of(run: Path) -> str:
    """The device that a run was trained on; the CPU, and a line on stderr, where that is not known."""
    try:
        return str(durable.read_mapping(run / run_directory.ENVIRONMENT).get("device"))
    except ValueError as error:
        print(f"{error}; measuring on the CPU", file=sys.stderr)
        return "cpu"


def _check_data(run: Path, data: BlockData) -> None:
    data.prepare_data()
    proof = durable.read_mapping(run / run_directory.PAIRING)
    if changed := [name for name, value in data.fingerprints.items() if proof.get(name) != value]:
        raise ValueError(f"{run} was trained with another {' and '.join(changed)} than its configuration now gives")


def _measure_snapshot(run: Path, snapshot: Path, evaluation: Evaluation, device: str) -> None:
    """First the rows, then what says that they are there: a kill in between has them measured again."""
    checkpoint = torch.load(snapshot, map_location="cpu", weights_only=True)
    step, totals, weights = checkpoint["global_step"], checkpoint["ledger"], checkpoint["state_dict"]
    place = "cuda" if device.startswith("cuda") and torch.cuda.is_available() else "cpu"
    precision = next(value.dtype for value in weights.values() if value.is_floating_point())
    objective = load_objective(snapshot).to(place, precision)
    objective.load_state_dict(weights)  # in the precision that they were trained and measured in
    values, declared = evaluation.measure(objective, read_declarations(run), number_of(snapshot))
    rows = [metrics_file.Row(step, *metrics_file.place(totals), name, value) for name, value in values.items()]
    metrics_file.insert_rows(run, rows)
    write_declarations(run, declared)
