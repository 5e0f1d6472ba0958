"""`clm-vs-mlm runs`: where each run of a grid stands."""

from __future__ import annotations

import argparse

from experiments.records import run_directory


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("directory", help="directory of a grid (results/<grid>) or of a run")


def main(options: argparse.Namespace) -> int:
    """Print one line a run. Raises ValueError when the directory holds none."""
    directory = run_directory.grid_or_run(options.directory)
    runs = [directory / run["directory"] for run in run_directory.read_runs(directory)]
    if not runs:
        raise ValueError(f"{directory} holds no runs; give the directory of a grid, such as results/quickstart")
    for run in runs:
        print(f"{run}\t{state_in_words(run_directory.run_state(run))}")
    return 0


def state_in_words(state: run_directory.RunState) -> str:
    """A state in words."""
    words = {
        "running": f"running: {state.tokens:,} of {state.budget_tokens:,} tokens, {state.tokens_per_second:,.0f}/s"
        if state.budget_tokens
        else "running: starting",
        "resumable": f"resumable at token {state.tokens:,}",
        "failed": f"failed: {state.error} (log: {state.log})",
        "diverged": state.error,
        "damaged": f"damaged: {state.error}",
    }
    return words.get(state.state, state.state)
