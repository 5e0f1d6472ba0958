"""A line for each run in training and one for the whole sweep: redrawn on a terminal, now and then elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TextIO

from experiments.records.run_directory import run_state

SECONDS_BETWEEN_LINES = 30
"""Where the output is no terminal."""


class Progress:
    """Progress of a sweep over `total` runs, `done` of which were done before, on stderr."""

    def __init__(self, total: int, done: int = 0, stream: TextIO | None = None) -> None:
        self.total = total
        self.done = done
        self.stream = stream or sys.stderr
        self.started = self.shown = time.monotonic()
        self.drawn = 0

    def show(self, running: Sequence[Path], outcomes: Mapping[Path, str], pending: int) -> None:
        """Show how far the running ones are."""
        terminal = self.stream.isatty()
        if not terminal and time.monotonic() - self.shown < SECONDS_BETWEEN_LINES:
            return
        self.shown = time.monotonic()
        lines = [run_line(run) for run in sorted(running)]
        failed = sum(outcome in ("failed", "died", "diverged") for outcome in outcomes.values())
        done = self.done + sum(outcome == "done" for outcome in outcomes.values())
        minutes, seconds = divmod(int(time.monotonic() - self.started), 60)
        lines.append(
            f"{done} of {self.total} runs done, {len(running)} running, {pending} to go, {failed} failed, "
            f"{minutes}:{seconds:02d} elapsed"
        )
        self._erase()
        self.stream.write("".join(line + "\n" for line in lines))
        self.stream.flush()
        self.drawn = len(lines) if terminal else 0

    def finished(self, run: Path, outcome: str) -> None:
        """Leave a line about a run that has ended."""
        self._erase()
        state = run_state(run)
        detail = {"failed": f": {state.error} (log: {state.log})", "died": " (killed; run again to resume)"}
        detail["diverged"] = f": {state.error.removeprefix('diverged ')}"
        self.stream.write(f"{run.name} {outcome}{detail.get(outcome, '')}\n")
        self.stream.flush()

    def _erase(self) -> None:
        if self.drawn:
            self.stream.write(f"\x1b[{self.drawn}A\x1b[J")
            self.drawn = 0


def run_line(run: Path) -> str:
    """How far one run is."""
    state = run_state(run)
    if state.state == "done":
        return f"  {run.name}: measuring"
    if not state.budget_tokens:
        return f"  {run.name}: starting"
    share = state.tokens / state.budget_tokens
    left = (state.budget_tokens - state.tokens) / state.tokens_per_second if state.tokens_per_second else 0.0
    return (
        f"  {run.name}: {state.tokens:,} of {state.budget_tokens:,} tokens ({share:.0%}), "
        f"{state.tokens_per_second:,.0f} tokens/s, {left:.0f} s of training left"
    )
