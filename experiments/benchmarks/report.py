"""How long the report of a large grid takes, from process start.

    python -m experiments.benchmarks.report [--runs 100 400] [--repeats 3]

The grid is made up: arms of five seeds on a language with known rules, one causal and the others at as many mask rates,
with eight snapshots of nine to eleven quantities. Printed are the wall and the processor time of the shortest repeat,
beside the seconds in which the report is meant to be there.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from tests.support.grids import CLM, GridBuilder, falling, masked, on_known_rules, rising

PROGRAM = (sys.executable, "-m", "experiments.cli", "report")
SEEDS = 5
MEANT = {100: 5, 400: 15}
"""Runs -> seconds."""


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, nargs="+", default=list(MEANT), help="runs of each grid")
    parser.add_argument("--repeats", type=int, default=3, help="of which the shortest counts")
    options = parser.parse_args(arguments)
    print(f"{'runs':>6}{'wall, s':>10}{'processor, s':>14}{'meant':>8}")
    for runs in options.runs:
        with tempfile.TemporaryDirectory() as folder:
            write_grid(Path(folder), runs)
            wall, processor = min(seconds_of(folder) for _ in range(options.repeats))
        print(f"{runs:>6}{wall:>10.2f}{processor:>14.2f}{MEANT.get(runs, ''):>8}", flush=True)


def write_grid(folder: Path, runs: int) -> None:
    """The files of a finished grid."""
    builder, arms = GridBuilder(folder), -(-runs // SEEDS)
    for arm in range(arms):
        objective = CLM if arm == 0 else masked(arm / arms, arm=f"mlm-{arm}")
        plan = on_known_rules(objective, falling(20 + arm), 3.4, rising(0.5, 0.78, 2_000))
        for seed in range(min(SEEDS, runs - SEEDS * arm)):
            builder.run(plan, seed)
    builder.finish()


def seconds_of(folder: str) -> tuple[float, float]:
    """Wall and processor time of a report."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run([*PROGRAM, folder], check=True, stdout=subprocess.DEVNULL)
    wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


if __name__ == "__main__":
    main()
