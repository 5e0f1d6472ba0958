"""The tables of runs, final scores and supervision density."""

from __future__ import annotations

from collections.abc import Sequence

from analysis.records.quantities import label
from analysis.records.results import Grid
from analysis.records.run_records import Arm, Cell, Missing
from analysis.statistics.compare import Comparison
from analysis.statistics.density import density
from analysis.statistics.intervals import Interval, t_interval
from analysis.tables.table import Column, Table, Value


def runs(grid: Grid) -> Table:
    """Every planned run and how far it is."""
    columns = (
        Column("run"),
        Column("arm"),
        Column("seed", "count"),
        Column("state"),
        Column("tokens", "count"),
        Column("budget", "count"),
        Column("tokens per second", "count"),
        Column("note"),
    )
    rows: list[tuple[Value, ...]] = []
    for cell in grid.cells:
        state = cell.state
        speed: Value = state.tokens_per_second or Missing("not recorded")
        budget: Value = cell.budget_tokens or Missing("known once it begins")
        rows.append(
            (
                cell.name,
                cell.arm,
                cell.seed,
                state.state,
                state.tokens,
                budget,
                speed,
                _note(cell),
            )
        )
    return Table("runs", "Every planned run and its state.", columns, rows)


def _note(cell: Cell) -> str:
    parts = []
    if cell.state.state == "failed":
        parts.append(cell.state.error or "no error recorded")
        parts.append(f"log: {cell.state.log or cell.directory / 'log.txt'}")
    if dropped := sorted(q for q, series in cell.series.items() if series.dropped):
        parts.append(f"values that are not finite left out of {', '.join(dropped)}")
    return "; ".join(parts) or "–"


def finals(arm: Arm, quantity: str) -> Interval | Missing:
    """Mean final score over the finished seeds, or why there is none."""
    scores = arm.finals(quantity)
    return t_interval(scores.values()) if scores else arm.why_missing(quantity)


def final_scores(grid: Grid, quantities: Sequence[str], name: str, caption: str) -> Table:
    """Mean final score by arm with its t-interval over seeds."""
    columns = (
        Column("arm"),
        Column("seeds finished"),
        *(Column(label(q), "score", True) for q in quantities),
    )
    rows = [
        (
            arm.name,
            f"{sum(cell.finished for cell in arm.cells)} of {len(arm.cells)}",
            *(finals(arm, q) for q in quantities),
        )
        for arm in grid.arms
    ]
    return Table(name, caption, columns, rows)


def scores_by_seed(grid: Grid, quantities: Sequence[str]) -> Table:
    """Every run's final scores, in full."""
    columns = (
        Column("run"),
        Column("arm"),
        Column("seed", "count"),
        *(Column(q, "score") for q in quantities),
    )
    rows = [(c.name, c.arm, c.seed, *(c.final(q) for q in quantities)) for c in grid.cells]
    return Table("final_scores_by_seed", "Final score of every run.", columns, rows, shown=False)


def differences(pairs: Sequence[Comparison], quantities: Sequence[str], name: str, caption: str) -> Table:
    """Paired differences of final scores."""
    columns = (
        Column("difference"),
        Column("quantity"),
        Column("paired seeds"),
        Column("mean", "signed", True),
        Column("reading"),
    )
    rows: list[tuple[Value, ...]] = []
    for pair in pairs:
        for quantity in quantities:
            found = pair.difference(quantity)
            seeds = str(found.n) if isinstance(found, Interval) else "0"
            rows.append((pair.names, label(quantity), seeds, found, pair.verdict(quantity)))
    return Table(name, caption, columns, rows)


def densities(grid: Grid) -> Table:
    """Supervision density by arm, over the seeds that recorded anything."""
    columns = (
        Column("arm"),
        Column("seeds", "count"),
        Column("nominal targets per token", "score"),
        Column("realised targets per token", "score", True),
        Column("targets per 10⁹ FLOPs", "budget", True),
        Column("tokens read by the furthest seed", "count"),
        Column("its targets", "count"),
    )
    rows: list[tuple[Value, ...]] = []
    for arm in grid.arms:
        found = [d for d in map(density, arm.cells) if d is not None]
        nothing = Missing("nothing recorded")
        if not found:
            rows.append((arm.name, 0, *[nothing] * 5))
            continue
        nominal = found[0].nominal
        costs = [d.per_gigaflop for d in found if d.per_gigaflop is not None]
        most = max(found, key=lambda d: d.tokens)
        rows.append(
            (
                arm.name,
                len(found),
                Missing("not recorded") if nominal is None else nominal,
                t_interval(d.realised for d in found),
                t_interval(costs) if costs else Missing("no FLOPs recorded"),
                most.tokens,
                most.targets,
            )
        )
    return Table("density", "Supervision density so far, mean over seeds.", columns, rows)
