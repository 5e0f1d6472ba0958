"""The tables of final scores: means by arm, every run's, and paired differences."""

from __future__ import annotations

from collections.abc import Sequence

from analysis.records.labels import with_unit
from analysis.records.results import Results
from analysis.records.run_records import Missing, finished_of_planned
from analysis.statistics.compare import Comparison, mean_final_score
from analysis.statistics.intervals import MOST_SEEDS, Interval
from analysis.tables.table import Column, Table, Value
from experiments.records.quantities import Quantity

DIFFERENCE = (
    Column("difference"),
    Column("quantity"),
    Column("paired seeds"),
    Column("mean", "signed", True),
    Column("verdict"),
    Column("p", "score"),
    Column("seeds that would settle it"),
)


def final_scores_table(group: Results, quantities: Sequence[Quantity]) -> Table:
    """Mean final score by arm with its interval."""
    caption = "Final scores, mean over finished seeds [95 % interval]."
    return Table("final_scores", caption, *_means(group, quantities))


def partial_scores_table(group: Results, quantities: Sequence[Quantity]) -> Table:
    """The same of metrics that not every arm answers."""
    caption = "Final scores of metrics that not every arm answers, mean over finished seeds [95 % interval]."
    return Table("final_scores_of_some", caption, *_means(group, quantities))


def own_scores_table(group: Results, quantities: Sequence[Quantity]) -> Table:
    """The same of what arms score on their own questions, with the questions."""
    columns, rows = _means(group, quantities)
    columns = (*columns[:2], Column("question"), *columns[2:])
    asked = [(*row[:2], arm.traits.question or "–", *row[2:]) for arm, row in zip(group.arms, rows, strict=True)]
    caption = "Final scores on own questions, mean over finished seeds [95 % interval]."
    return Table("own_scores", caption, columns, asked)


def _means(group: Results, quantities: Sequence[Quantity]) -> tuple[tuple[Column, ...], list[tuple[Value, ...]]]:
    columns = (Column("arm"), Column("seeds finished"), *(Column(with_unit(q), "score", True) for q in quantities))
    rows: list[tuple[Value, ...]] = [
        (arm.name, finished_of_planned(arm.runs), *(mean_final_score(arm, q) for q in quantities)) for arm in group.arms
    ]
    return columns, rows


def final_scores_by_seed_table(group: Results, quantities: Sequence[Quantity]) -> Table:
    """Every run's final scores, in full."""
    columns = (Column("run"), Column("arm"), Column("seed", "count"), *(Column(q.name, "score") for q in quantities))
    rows = [(run.name, run.arm, run.seed, *(run.final_score(q) for q in quantities)) for run in group.runs]
    return Table("final_scores_by_seed", "Final scores of every run.", columns, rows, shown=False)


def final_differences_table(
    pairs: Sequence[Comparison], of_all: Sequence[Quantity], of_some: Sequence[Quantity]
) -> Table:
    """Paired differences of final scores; of metrics that only some arms answer, between those that do."""
    rows = [
        _difference(pair, quantity)
        for pair in pairs
        for quantity in (*of_all, *of_some)
        if quantity in of_all or (pair.arm.recorded(quantity) and pair.reference.recorded(quantity))
    ]
    caption = "Paired differences of final scores, mean over seeds [95 % interval]."
    return Table("final_differences", caption, DIFFERENCE, rows)


def own_differences_table(pairs: Sequence[Comparison], quantities: Sequence[Quantity]) -> Table:
    """Paired differences between arms that are asked the same question."""
    rows = [_difference(pair, quantity) for pair in pairs for quantity in quantities]
    caption = "Paired differences between arms that are asked the same question, mean over seeds [95 % interval]."
    return Table("own_differences", caption, DIFFERENCE, rows)


def _difference(pair: Comparison, quantity: Quantity) -> tuple[Value, ...]:
    found = pair.difference(quantity)
    seeds = str(found.n) if isinstance(found, Interval) else "0"
    if isinstance(found, Missing) or found.no_conclusion:
        nothing = found if isinstance(found, Missing) else Missing(found.no_conclusion)
        return (pair.names, with_unit(quantity), seeds, found, pair.verdict(quantity), nothing, nothing)
    needed = "settled" if found.excludes(0) else str(found.seeds_to_exclude(0) or f"more than {MOST_SEEDS}")
    return (pair.names, with_unit(quantity), seeds, found, pair.verdict(quantity), found.p_value(0), needed)
