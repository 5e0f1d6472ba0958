"""`clm-vs-mlm sweep`: plan a grid and run what is missing."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from experiments.records import durable, run_directory
from experiments.strict_yaml import dump_yaml
from experiments.sweeps.cluster import ClusterExecutor, check_cluster, read_parameters
from experiments.sweeps.grid import START, Cell, Grid, find_grid, merged, read_grid
from experiments.sweeps.progress import Progress
from experiments.sweeps.workers import (
    BUSY,
    DIED,
    DIVERGED,
    FAILED,
    INTERRUPTED,
    NOT_STARTED,
    MakeExecutor,
    RunTask,
    local_worker,
    run_all,
)

UNMEASURED = "done, to be measured"
"""State of a trained run that some metric of the grid has not been measured in."""

LEFT = 3
"""Exit code when all that is missing is left to another process."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("grid", help="path of a grid's YAML file, or the bare name of a shipped one")
    parser.add_argument("--results", default="results", help="directory that gets <grid>/ (default: results)")
    add_worker_arguments(parser)
    parser.add_argument("--dry-run", action="store_true", help="list the runs and their states, and train nothing")
    parser.add_argument("--retry-failed", action="store_true", help="also try the runs that failed before")


def add_worker_arguments(parser: argparse.ArgumentParser) -> None:
    """Where runs are worked on."""
    parser.add_argument("--workers", type=int, help="runs at a time (default: one per GPU or CPU core)")
    parser.add_argument(
        "--submitit",
        nargs="*",
        metavar="KEY=VALUE",
        help="work on runs as SLURM jobs with these submitit parameters (timeout_min=120 slurm_partition=long ...)",
    )


def main(options: argparse.Namespace) -> tuple[int, Path | None]:
    """Train what is missing of a grid, and measure what is missing of its done runs.

    Returns the exit code, 0 when every run is done, 1 when one failed, 3 when none failed but another process works on
    some, 130 when interrupted; and the directory whose report is due, None after a dry run. Raises ValueError on bad
    input.
    """
    path = find_grid(options.grid)
    grid = read_grid(path)
    _check_imports(path, grid, options.allow_import)
    directory = Path(options.results) / grid.name
    threads, executors = make_executors(options, directory, len(grid.cells))
    print(f"{grid.title}: checking {len(grid.cells)} runs", file=sys.stderr)
    planned = plan(grid, directory, options.allow_import)
    runs = [run for run, _ in planned]
    states = [_state(directory / run["directory"], config) for run, config in planned]
    if options.dry_run:
        for run, state in zip(runs, states, strict=True):
            print(f"{run['directory']}\t{state}")
        return 0, None
    durable.make_directory(directory)
    durable.write_text(directory / run_directory.GRID, grid.source)
    durable.write_json(directory / run_directory.PLAN, runs)
    wanted = {"pending", "resumable", UNMEASURED} | ({"failed", "diverged"} if options.retry_failed else set())
    missing = [both for both, state in zip(planned, states, strict=True) if state in wanted]
    ours = {directory / run["directory"] for run in runs}
    tasks = [_task(directory, run, config, threads, options.allow_import, ours) for run, config in missing]
    outcomes = run_all(tasks, executors[: len(tasks)], Progress(len(runs), states.count("done"))) if tasks else {}
    return _exit_code(directory, runs, outcomes), directory


def _check_imports(path: Path, grid: Grid, allowed: Sequence[str]) -> None:
    """Refuse a grid that names packages which the user has not allowed: a file must not choose what runs."""
    from objectives.construction.class_paths import OUR_PACKAGES, is_within

    if missing := [package for package in grid.imports if not is_within(package, [*OUR_PACKAGES, *allowed])]:
        options = " ".join(f"--allow-import {package}" for package in missing)
        raise ValueError(
            f"{path} imports {', '.join(missing)}: code of {'that package' if len(missing) == 1 else 'these packages'} "
            f"would run; if you trust it, add {options}"
        )


def plan(grid: Grid, directory: Path, imports: Sequence[str] = ()) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """What the run of each cell is, with its resolved configuration; all are checked before any starts.

    Args:
        imports: packages that class paths may name besides ours.

    Raises:
        ValueError: when a configuration is refused, or two cells are the same run.
    """
    planned: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {}
    owners: dict[str, str] = {}
    for cell in _parents_first(grid.cells):
        parent = planned[cell.start][0] if cell.start else None
        run, config = _run_of(cell, grid, directory, imports, parent)
        twin = owners.setdefault(run["hash"], cell.name)
        if twin != cell.name:
            raise ValueError(f"cells {twin} and {cell.name} are the same run; remove one of them from the grid")
        planned[cell.name] = run, config
    return [planned[cell.name] for cell in grid.cells]


def _parents_first(cells: Sequence[Cell]) -> list[Cell]:
    """Each after the one that it starts from, whose hash is a part of its own."""
    start_of = {cell.name: cell.start for cell in cells}

    def depth(name: str | None) -> int:
        return 0 if name is None else 1 + depth(start_of[name])

    return sorted(cells, key=lambda cell: depth(cell.start))


def _run_of(
    cell: Cell, grid: Grid, directory: Path, imports: Sequence[str], parent: Mapping[str, Any] | None
) -> tuple[dict[str, Any], dict[str, Any]]:
    """What the run of a cell is; `parent` is the run that it starts from."""
    from experiments.training.commands import planned

    config = merged(cell.config, {START: str(directory / parent["directory"])} if parent else {})
    arguments = ["fit", "--config", dump_yaml(config), "--results", str(directory), "--name", cell.name]
    try:
        run = planned(arguments, imports)
    except ValueError as error:
        raise ValueError(f"cell {cell.name}: {error}") from error
    if run.config["trainer"]["devices"] not in (1, "auto"):
        raise ValueError(f"cell {cell.name}: a sweep trains each run on one device; leave trainer.devices at 1")
    return {**run.description, "arm": cell.arm, "factors": cell.factors, "title": grid.title}, run.config


def _state(run: Path, config: dict[str, Any]) -> str:
    from experiments.evaluation.evaluation import unmeasured

    state = run_directory.run_state(run).state
    return UNMEASURED if state == "done" and unmeasured(run, config) else state


def make_executors(options: argparse.Namespace, directory: Path, runs: int) -> tuple[int, list[MakeExecutor]]:
    """Threads of each run, and what makes each place to train one.

    Both depend on the options and the whole grid, never on what is missing: a resumed run keeps its number of threads.
    """
    if options.workers is not None and options.workers < 1:
        raise ValueError(f"--workers must be at least 1, but is {options.workers}")
    if options.submitit is not None:
        parameters = read_parameters(options.submitit)
        check_cluster(directory / "submitit", parameters)
        make: MakeExecutor = partial(ClusterExecutor, directory / "submitit", parameters)
        return parameters.get("cpus_per_task") or 1, [make] * (options.workers or runs)
    gpus = _gpus()
    workers = min(options.workers or len(gpus) or os.cpu_count() or 1, len(gpus) or runs)
    threads = max(1, (os.cpu_count() or 1) // workers)
    devices: list[str | None] = [*gpus] or [None] * workers
    return threads, [partial(local_worker, threads, device) for device in devices[:workers]]


def _task(
    directory: Path, run: dict[str, Any], config: dict[str, Any], threads: int, imports: list[str], ours: set[Path]
) -> RunTask:
    """What is to be done for a run; it waits for the one that it starts from, where that is one of `ours`."""
    start = config["model"]["init_args"].get("start")
    path = durable.make_directory(directory / run["directory"])
    # What a run has written of itself stays: one that is only measured does not write it again.
    durable.write_json(path / run_directory.RUN, {**run_directory.record_of(path), **run})
    durable.write_text(path / run_directory.CONFIG, dump_yaml(config))
    arguments = ["--config", str(path / run_directory.CONFIG), "--threads", str(threads)]
    return RunTask(path, arguments, imports, after=Path(start) if start and Path(start) in ours else None)


def _gpus() -> list[str]:
    """Names of the visible GPUs, as CUDA_VISIBLE_DEVICES takes them."""
    import torch

    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    return visible.split(",") if visible else [str(index) for index in range(torch.cuda.device_count())]


def _exit_code(directory: Path, runs: list[dict[str, Any]], outcomes: Mapping[Path, str]) -> int:
    found = set(outcomes.values())
    if INTERRUPTED in found:
        print("interrupted: run the same command to go on", file=sys.stderr)
        return 130
    states = {run["name"]: run_directory.run_state(directory / run["directory"]) for run in runs}
    failed = {name: state for name, state in states.items() if state.state in ("failed", "diverged", "damaged")}
    for name, state in failed.items():
        log = f"; log: {state.log}" if state.log else ""
        print(f"{state.state}: {name}: {state.error.removeprefix('diverged ')}{log}", file=sys.stderr)
    if any(state.state != "damaged" for state in failed.values()):
        print("run again with --retry-failed to try them once more", file=sys.stderr)
    left = [
        run["name"]
        for run in runs
        if states[run["name"]].state == "running" or outcomes.get(directory / run["directory"]) == BUSY
    ]
    if left:
        print(left_to_others(left, len(runs)), file=sys.stderr)
    if failed or found & {DIED, DIVERGED, FAILED, NOT_STARTED}:
        return 1
    return LEFT if left else 0


def left_to_others(names: Sequence[str], total: int) -> str:
    """What to say of runs that another process works on."""
    return (
        f"{len(names)} of {total} runs {'is' if len(names) == 1 else 'are'} left to another process: "
        f"{', '.join(names)}; run the same command again when it has ended"
    )
