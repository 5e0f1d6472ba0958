"""How much of a sweep is training, and what its workers hold in memory from cell to cell.

    python -m experiments.benchmarks.sweep [GRID] [--workers 2] [--seeds N] [--budget TOKENS]

Runs the cells of a grid through the workers of `clm-vs-mlm sweep`, from planning to the report, in a temporary
directory. Printed are the wall time over the training seconds of a worker (imports, packing, evaluation, records and
report are the rest), and for each cell the most memory that its worker was seen to hold, ten times a second.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path

import yaml

from experiments.records import metrics_file, run_directory
from experiments.sweeps.grid import find_grid, merged

MEBI = 2**20


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("grid", nargs="?", default="quickstart", help="path or bare name of a grid")
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    parser.add_argument("--seeds", type=int, help="seeds of each arm, in place of the grid's own")
    parser.add_argument("--budget", type=int, help="tokens of each run, in place of the grid's own")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        grid = write_grid(options.grid, options.seeds, options.budget, Path(folder))
        command = [sys.executable, "-m", "experiments.cli", "sweep", str(grid), "--results", folder]
        start = time.perf_counter()
        child = subprocess.Popen([*command, "--workers", str(options.workers)])
        peaks = PeakMemory(Path(folder) / grid.stem)
        code = child.wait()
        wall = time.perf_counter() - start
        peaks.stop()
        if code:
            raise SystemExit(f"the sweep ended with exit code {code}")
        show(Path(folder) / grid.stem, wall, options.workers, peaks)


def write_grid(name: str, seeds: int | None, budget: int | None, folder: Path) -> Path:
    """A copy of a grid, with fewer seeds or another budget where they are given."""
    source = find_grid(name)
    content = yaml.safe_load(source.read_text(encoding="utf-8"))
    if seeds is not None:
        content["seeds"] = list(range(1, seeds + 1))
    if budget is not None:
        content["base"] = merged(content["base"], {"model.init_args.budget": {"tokens": budget}})
        for level in (level for levels in content["axes"].values() for level in levels.values()):
            for key in [key for key in level if key.startswith("model.init_args.budget")]:
                del level[key]
    path = folder / source.name
    path.write_text(json.dumps(content), encoding="utf-8")  # JSON is YAML
    return path


def show(grid: Path, wall: float, workers: int, peaks: PeakMemory) -> None:
    """Print what a sweep took."""
    runs = run_directory.read_runs(grid)
    training = 0.0
    print(f"{'cell':44}{'training':>10}{'peak memory':>14}")
    begun = [*peaks.of]
    seen = (run for run in runs if run["directory"] in peaks.of)
    for run in sorted(seen, key=lambda run: begun.index(run["directory"])):
        seconds = metrics_file.read_metrics(grid / run["directory"])[-1].seconds
        training += seconds
        print(f"{run['name']:44}{seconds:>8.1f} s{peaks.of[run['directory']] / MEBI:>10.0f} MiB")
    if len(begun) < len(runs):
        raise SystemExit(f"{len(runs) - len(begun)} cells were over before they were seen; give them a larger budget")
    each = training / workers
    print(f"{len(runs)} cells, {workers} workers: {wall:.0f} s, of which {each:.0f} s are training; {wall / each:.2f}")


class PeakMemory(threading.Thread):
    """Asks a few times a second what the workers of a sweep hold, and which cell each works on."""

    def __init__(self, grid: Path) -> None:
        super().__init__(daemon=True)
        self.grid, self.ended = grid, threading.Event()
        self.of: dict[str, int] = {}
        """Directory of a run, in the order in which they began -> the most bytes that its worker held."""
        self.start()

    def stop(self) -> None:
        self.ended.set()
        self.join()

    def run(self) -> None:
        while not self.ended.wait(0.1):
            for path in self.grid.glob(f"runs/*/{run_directory.STATUS}"):
                status = run_directory.read_status(path.parent)
                if status.get("state") == "running" and run_directory.is_locked(path.parent):
                    directory = str(path.parent.relative_to(self.grid))
                    self.of[directory] = max(self.of.get(directory, 0), resident_bytes(status.get("pid", 0)))


def resident_bytes(process: int) -> int:
    """Memory that a process holds now; 0 when it is gone. On Linux."""
    try:
        return int(Path(f"/proc/{process}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0


if __name__ == "__main__":
    main()
