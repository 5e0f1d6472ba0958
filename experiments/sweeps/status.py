"""`clm-vs-mlm runs`: where each cell of a grid stands."""

from __future__ import annotations

import argparse
from pathlib import Path

from experiments.records import run_directory


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("directory", help="directory of a grid (results/<grid>) or of a run")


def main(options: argparse.Namespace) -> int:
    """Print one line a cell. Raises ValueError when the directory holds no run."""
    directory = Path(options.directory)
    cells = run_directory.read_runs(directory)
    if not cells:
        raise ValueError(f"{directory} holds no runs; give the directory of a grid, such as results/quickstart")
    for cell in cells:
        print(f"{directory / cell['directory']}\t{describe(run_directory.run_state(directory / cell['directory']))}")
    return 0


def describe(state: run_directory.RunState) -> str:
    """A state in words."""
    words = {
        "running": f"running: {state.tokens:,} of {state.budget_tokens:,} tokens, {state.tokens_per_second:,.0f}/s",
        "resumable": f"resumable at token {state.tokens:,}",
        "failed": f"failed: {state.error} (log: {state.log})",
    }
    return words.get(state.state, state.state)
