"""The tables of final scores: means by arm, every run's, and paired differences."""

from __future__ import annotations

from collections.abc import Sequence

from analysis.records.labels import with_unit
from analysis.records.results import Results
from analysis.records.run_records import finished_of_planned
from analysis.statistics.compare import Comparison, mean_final_score
from analysis.statistics.intervals import Interval
from analysis.tables.table import Column, Table, Value
from experiments.records.quantities import Quantity


def final_scores_table(group: Results, quantities: Sequence[Quantity]) -> Table:
    """Mean final score by arm with its t-interval over seeds."""
    columns = (Column("arm"), Column("seeds finished"), *(Column(with_unit(q), "score", True) for q in quantities))
    rows = [
        (arm.name, finished_of_planned(arm.runs), *(mean_final_score(arm, q) for q in quantities)) for arm in group.arms
    ]
    return Table("final_scores", "Final scores, mean over finished seeds [95 % t-interval].", columns, rows)


def final_scores_by_seed_table(group: Results, quantities: Sequence[Quantity]) -> Table:
    """Every run's final scores, in full."""
    columns = (Column("run"), Column("arm"), Column("seed", "count"), *(Column(q.name, "score") for q in quantities))
    rows = [(run.name, run.arm, run.seed, *(run.final_score(q) for q in quantities)) for run in group.runs]
    return Table("final_scores_by_seed", "Final scores of every run.", columns, rows, shown=False)


def final_differences_table(pairs: Sequence[Comparison], quantities: Sequence[Quantity]) -> Table:
    """Paired differences of final scores."""
    columns = (
        Column("difference"),
        Column("quantity"),
        Column("paired seeds"),
        Column("mean", "signed", True),
        Column("verdict"),
    )
    rows: list[tuple[Value, ...]] = []
    for pair in pairs:
        for quantity in quantities:
            found = pair.difference(quantity)
            seeds = str(found.n) if isinstance(found, Interval) else "0"
            rows.append((pair.names, with_unit(quantity), seeds, found, pair.verdict(quantity)))
    caption = "Paired differences of final scores, mean over seeds [95 % t-interval]."
    return Table("final_differences", caption, columns, rows)
