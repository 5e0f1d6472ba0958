"""`clm-vs-mlm evaluate`: measures at saved snapshots what is missing there."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from experiments.records import run_directory
from experiments.strict_yaml import read_yaml
from experiments.sweeps.progress import Progress
from experiments.sweeps.sweep import LEFT, add_worker_arguments, left_to_others, make_executors
from experiments.sweeps.workers import BUSY, DONE, FAILED, INTERRUPTED, RunTask, run_all

NOTHING = "nothing is missing"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("directory", metavar="DIR", help="directory of a run, or of a grid (results/<grid>)")
    parser.add_argument("--config", metavar="FILE", help="YAML file with other evaluation.metrics for all these runs")
    add_worker_arguments(parser)


def main(options: argparse.Namespace) -> int:
    """Measure, then print a line `run<TAB>outcome` for each run.

    The exit code: 0 when all is measured, 1 when a run failed, 3 when none failed but another process works on some,
    130 when interrupted. Raises ValueError on bad input.
    """
    directory = run_directory.grid_or_run(options.directory)
    runs = [directory / run["directory"] for run in run_directory.read_runs(directory)]
    begun = [run for run in runs if any((run / file).exists() for file in (run_directory.CONFIG, run_directory.DONE))]
    if not begun:
        raise ValueError(f"{directory} holds no run that has begun; train it first (clm-vs-mlm fit, clm-vs-mlm sweep)")
    tasks = [RunTask(run, _arguments(run, options.config), options.allow_import, train=False) for run in begun]
    outcomes = {run: NOTHING for run in begun}
    if begun == [directory]:
        outcomes[directory] = _measure_here(tasks[0])
    else:
        outcomes |= _measure_all(tasks, options, directory, len(runs))
    for run, outcome in outcomes.items():
        print(f"{run}\t{'measured' if outcome == DONE else outcome}")
    found = set(outcomes.values())
    if INTERRUPTED in found:
        print("interrupted: run the same command to go on", file=sys.stderr)
        return 130
    if left := [run.name for run, outcome in outcomes.items() if outcome == BUSY]:
        print(left_to_others(left, len(outcomes)), file=sys.stderr)
    return 0 if found <= {NOTHING, DONE} else LEFT if found <= {NOTHING, DONE, BUSY} else 1


def _measure_all(tasks: Sequence[RunTask], options: argparse.Namespace, directory: Path, runs: int) -> dict[Path, str]:
    """Measure the runs of a grid; one that is refused is named, and the others are measured. Raises the first refusal
    where all are refused."""
    lacking: list[RunTask] = []
    refusals: dict[Path, Exception] = {}
    for task in tasks:
        try:
            if _lacks(task):
                lacking.append(task)
        except (ValueError, OSError) as error:
            refusals[task.run] = error
    if len(refusals) == len(tasks):
        raise next(iter(refusals.values()))
    for run, refusal in refusals.items():
        print(f"{run} is left out: {refusal}", file=sys.stderr)
    outcomes = dict.fromkeys(refusals, FAILED)
    if lacking:
        _, executors = make_executors(options, directory, runs)
        outcomes |= run_all(lacking, executors[: len(lacking)], Progress(len(tasks), len(tasks) - len(lacking)))
    return outcomes


def _measure_here(task: RunTask) -> str:
    """Measure one run in this process."""
    from experiments.training.command_line import quiet_lightning
    from experiments.training.commands import opened
    from experiments.training.measure import measure_run

    quiet_lightning()
    _check_configuration(task.run)
    return DONE if measure_run(task.run, opened(["fit", *task.arguments], task.imports)) else NOTHING


def _arguments(run: Path, config: str | None) -> list[str]:
    """Those of the run's `fit`; the data lies beside the run, wherever both were moved."""
    moved = ["--results", str(run.resolve().parent.parent)] if run.resolve().parent.name == run_directory.RUNS else []
    changed = ["--config", config] if config else []
    return ["--config", str(run / run_directory.CONFIG), *changed, *moved]


def _check_configuration(run: Path) -> None:
    """Raises ValueError when the settings that a run was trained with cannot be read."""
    path = run / run_directory.CONFIG
    if not path.exists():
        raise ValueError(f"{path} is missing; restore it from a copy")
    read_yaml(path)


def _lacks(task: RunTask) -> bool:
    """Whether there is something to measure. Raises ValueError when the settings are refused or another run's, or the
    run is damaged."""
    from experiments.evaluation.evaluation import unmeasured
    from experiments.training.commands import opened
    from experiments.training.measure import check_run

    _check_configuration(task.run)
    spec = opened(["fit", *task.arguments], task.imports).run
    check_run(task.run, spec)
    return bool(unmeasured(task.run, spec.config))
