"""`clm-vs-mlm evaluate`: measures a snapshot of a run, as its training did."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from experiments.records import durable, run_directory
from experiments.records.quantities import Declarations


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run", help="directory of a run, with or without the hash at the end of its name")
    parser.add_argument("--snapshot", metavar="FILE", help="path or name of one of its snapshots (default: the last)")
    parser.add_argument(
        "--allow-import",
        metavar="PACKAGE",
        action="append",
        default=[],
        help="a package of yours that class paths of the configuration may name; repeatable",
    )


def main(options: argparse.Namespace) -> int:
    """Print a line `quantity<TAB>value` for each measurement. Raises ValueError on bad input."""
    from experiments.training.command_line import quiet_lightning

    quiet_lightning()
    run = run_directory.find_run(options.run)
    if run is None:
        raise ValueError(f"there is no run at {options.run}; give a run's directory, such as results/fit/mlm")
    for quantity, value in evaluate(run, options.snapshot, options.allow_import).items():
        print(f"{quantity}\t{value!r}")
    return 0


def evaluate(run: Path, snapshot: str | None = None, allowed_imports: Sequence[str] = ()) -> dict[str, float]:
    """quantity -> value of a run's snapshot, its last when None; equal to what the run recorded there.

    On the device it was trained on, where there is one.

    Raises:
        ValueError: when there is no such snapshot, when it is damaged, or when the data is no longer what it was.
    """
    import torch

    from experiments.evaluation.evaluation import Evaluation
    from experiments.training.checkpoint_files import verify
    from experiments.training.commands import planned
    from objectives.checkpoint import load_objective

    path = _find_snapshot(run, snapshot)
    verify(path)
    # The data lies beside the run, wherever both were moved.
    moved = ["--results", str(run.resolve().parent.parent)] if run.resolve().parent.name == "runs" else []
    cli = planned(["fit", "--config", str(run / run_directory.CONFIG), *moved], allowed_imports)
    data = cli.build_data()
    data.prepare_data()
    proof = durable.read_mapping(run / run_directory.PAIRING)
    if changed := [name for name, value in data.fingerprints.items() if proof.get(name) != value]:
        raise ValueError(f"{run} was trained with another {' and '.join(changed)} than its configuration now gives")
    device = str(durable.read_mapping(run / run_directory.ENVIRONMENT).get("device"))
    on_gpu = device.startswith("cuda") and torch.cuda.is_available()
    evaluation = Evaluation(data, cli.run.config["evaluation"]["metrics"])
    return evaluation.measure(load_objective(path).to("cuda" if on_gpu else "cpu"), Declarations(), 0)[0]


def _find_snapshot(run: Path, name: str | None) -> Path:
    from experiments.training.checkpoint_files import complete

    snapshots = complete(run / "snapshots")
    if name is None:
        if not snapshots:
            raise ValueError(f"{run} has no snapshot yet; train it first (clm-vs-mlm fit)")
        return snapshots[-1]
    found = next((path for path in (Path(name), run / "snapshots" / name) if path.is_file()), None)
    if found is None:
        known = f"; it has {', '.join(path.name for path in snapshots)}" if snapshots else ""
        raise ValueError(f"{run} has no snapshot {name}{known}")
    return found
