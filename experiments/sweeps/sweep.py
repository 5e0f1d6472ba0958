"""`clm-vs-mlm sweep`: plan a grid, run what is missing, write the report."""

from __future__ import annotations

import argparse
import os
import sys
from functools import partial
from pathlib import Path
from typing import Any

import yaml

from experiments.records import durable, run_directory
from experiments.sweeps.cluster import ClusterExecutor, read_parameters
from experiments.sweeps.grid import Grid, find_grid, read_grid
from experiments.sweeps.progress import Progress
from experiments.sweeps.workers import DIED, FAILED, INTERRUPTED, MakeExecutor, Task, local_worker, run_all


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("grid", help="path of a grid's YAML file, or the bare name of a shipped one")
    parser.add_argument("--results", default="results", help="directory that gets <grid>/ (default: results)")
    parser.add_argument(
        "--workers",
        type=int,
        default=None,
        help="cells at a time (default: one per GPU or CPU core)",
    )
    parser.add_argument(
        "--submitit",
        nargs="*",
        metavar="KEY=VALUE",
        help="run cells as SLURM jobs with these submitit parameters (timeout_min=120 slurm_partition=long ...)",
    )
    parser.add_argument("--dry-run", action="store_true", help="list the cells and their states, and run nothing")
    parser.add_argument("--retry-failed", action="store_true", help="also run the cells that failed before")


def main(options: argparse.Namespace) -> int:
    """Exit code: 0 when every cell is done, 1 when one failed, 130 when interrupted. Raises ValueError on bad input."""
    if options.workers is not None and options.workers < 1:
        raise ValueError(f"--workers must be at least 1, but is {options.workers}")
    grid = read_grid(find_grid(options.grid))
    directory = Path(options.results) / grid.name
    print(f"{grid.title}: checking {len(grid.cells)} cells", file=sys.stderr)
    planned = plan(grid, directory)
    cells = [cell for cell, _ in planned]
    if options.dry_run:
        for cell in cells:
            print(f"{cell['directory']}\t{run_directory.run_state(directory / cell['directory']).state}")
        return 0
    durable.make_directory(directory)
    durable.write_text(directory / run_directory.GRID, grid.source)
    durable.write_json(directory / run_directory.PLAN, cells)
    states = [run_directory.run_state(directory / cell["directory"]).state for cell in cells]
    wanted = {"pending", "resumable"} | ({"failed"} if options.retry_failed else set())
    missing = [both for both, state in zip(planned, states, strict=True) if state in wanted]
    threads, executors = _executors(options, directory, len(cells))
    tasks = [_task(directory, cell, config, threads, grid.imports) for cell, config in missing]
    outcomes = run_all(tasks, executors[: len(tasks)], Progress(len(cells), states.count("done"))) if tasks else {}
    code = _exit_code(directory, cells, list(outcomes.values()))
    from analysis.report import write_report

    print(write_report(directory))
    return code


def plan(grid: Grid, directory: Path) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """What each cell is, with its resolved configuration; all are checked before any runs.

    Raises:
        ValueError: when a configuration is refused, or two cells are the same run.
    """
    from experiments.training.command_line import PlannedCLI
    from experiments.training.commands import plain_reason

    planned = []
    owners: dict[str, str] = {}
    for cell in grid.cells:
        arguments = [
            "fit",
            "--config",
            yaml.safe_dump(cell.config),
            "--results",
            str(directory),
            "--name",
            cell.name,
        ]
        try:
            cli = PlannedCLI(arguments, grid.imports)
        except Exception as error:
            raise ValueError(f"cell {cell.name}: {plain_reason(str(error))}") from error
        if cli.plain["trainer"]["devices"] not in (1, "auto"):
            raise ValueError(f"cell {cell.name}: a sweep runs each cell on one device; leave trainer.devices at 1")
        twin = owners.setdefault(cli.cell["hash"], cell.name)
        if twin != cell.name:
            raise ValueError(f"cells {twin} and {cell.name} are the same run; remove one of them from the grid")
        described = {**cli.cell, "arm": cell.arm, "factors": cell.factors, "title": grid.title}
        planned.append((described, cli.plain))
    return planned


def _executors(options: argparse.Namespace, directory: Path, cells: int) -> tuple[int, list[MakeExecutor]]:
    """Threads of each cell, and what makes each place to run one.

    Both come from what was asked for and never from what is missing: a resumed cell keeps its number of threads.
    """
    if options.submitit is not None:
        parameters = read_parameters(options.submitit)
        ClusterExecutor(directory / "submitit", parameters)  # refuses what it does not know before any job is made
        make: MakeExecutor = partial(ClusterExecutor, directory / "submitit", parameters)
        return parameters.get("cpus_per_task", 1), [make] * (options.workers or cells)
    gpus = _gpus()
    workers = min(options.workers or len(gpus) or os.cpu_count() or 1, len(gpus) or cells)
    threads = max(1, (os.cpu_count() or 1) // workers)
    devices: list[str | None] = [*gpus] or [None] * workers
    return threads, [partial(local_worker, threads, device) for device in devices[:workers]]


def _task(directory: Path, cell: dict[str, Any], config: dict[str, Any], threads: int, imports: list[str]) -> Task:
    run = durable.make_directory(directory / cell["directory"])
    durable.write_json(run / run_directory.RUN, cell)
    durable.write_text(run / run_directory.CONFIG, yaml.safe_dump(config, sort_keys=False, allow_unicode=True))
    return run, ["--config", str(run / run_directory.CONFIG), "--threads", str(threads)], imports


def _gpus() -> list[str]:
    """Names of the visible GPUs, as CUDA_VISIBLE_DEVICES takes them."""
    import torch

    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    return visible.split(",") if visible else [str(index) for index in range(torch.cuda.device_count())]


def _exit_code(directory: Path, cells: list[dict[str, Any]], outcomes: list[str]) -> int:
    if INTERRUPTED in outcomes:
        print("interrupted: run the same command to go on", file=sys.stderr)
        return 130
    states = [run_directory.run_state(directory / cell["directory"]) for cell in cells]
    failed = [(cell, state) for cell, state in zip(cells, states, strict=True) if state.state == "failed"]
    for cell, state in failed:
        print(f"failed: {cell['name']}: {state.error}; log: {state.log}", file=sys.stderr)
    if failed:
        print("run again with --retry-failed to try the failed cells once more", file=sys.stderr)
    return 1 if failed or DIED in outcomes or FAILED in outcomes else 0
