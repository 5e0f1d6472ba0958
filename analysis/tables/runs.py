"""The table of runs: how far each is."""

from __future__ import annotations

from analysis.records.results import Results
from analysis.records.run_records import Missing, RunRecords
from analysis.tables.table import Column, Table, Value


def runs_table(results: Results) -> Table:
    """Every planned run and how far it is."""
    columns = (
        Column("run"),
        Column("arm"),
        Column("seed", "count"),
        Column("state"),
        Column("tokens", "count"),
        Column("budget", "count"),
        Column("optimiser steps", "count"),
        Column("tokens per second", "count"),
        Column("note"),
    )
    rows: list[tuple[Value, ...]] = []
    for run in results.runs:
        speed: Value = run.state.tokens_per_second or Missing("not recorded")
        budget: Value = run.budget_tokens or Missing("known once it begins")
        steps: Value = run.last_row.step if run.last_row is not None else Missing("none recorded")
        state = run.state
        rows.append((run.name, run.arm, run.seed, state.state, state.tokens, budget, steps, speed, _note(run)))
    return Table("runs", "Every planned run and its state.", columns, rows)


def _note(run: RunRecords) -> str:
    parts = []
    if run.state.state in ("failed", "diverged", "damaged"):
        parts.append(run.state.error or "no error recorded")
        parts.append(f"log: {run.log}")
    if dropped := sorted(q for q, series in run.series.items() if series.dropped):
        parts.append(f"values that are not finite left out of {', '.join(dropped)}")
    for metric in run.declared.metrics:
        if metric.not_measured:
            parts.append(f"{metric.class_path.rpartition('.')[2]} not measured: {metric.not_measured}")
    return "; ".join(parts) or "–"
