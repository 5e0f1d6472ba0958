"""The table of supervision density."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from analysis.records.labels import AXES, with_unit
from analysis.records.results import Results
from analysis.records.run_records import Arm, Missing
from analysis.statistics.density import LADDER, Ladder, density
from analysis.statistics.intervals import t_interval
from analysis.tables.table import Column, Table, Value
from experiments.records.quantities import Quantity


def density_table(group: Results) -> Table:
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
    rows = [_row(arm) for arm in group.arms]
    return Table("density", "Supervision density so far, mean over seeds.", columns, rows)


def density_ladder_table(ladders: Mapping[Quantity, Ladder]) -> Table:
    """Scores of all arms by density, at budgets that all have spent: equal tokens, and equal FLOPs."""
    columns = (Column("arm"), Column("targets per token", "score"), Column("quantity"), *_equal_budgets())
    rows: list[tuple[Value, ...]] = []
    for quantity, ladder in ladders.items():
        for arm in sorted(ladder, key=lambda one: ladder[one].density):
            missing = Missing("no snapshot within the common budget")
            scores = (ladder[arm].scores.get(axis, missing) for axis in LADDER)
            rows.append((arm.name, ladder[arm].density, with_unit(quantity), *scores))
    caption = (
        "The ladder of supervision density: mean scores over seeds [95 % interval] at the largest budget that every "
        "finished run has spent, interpolated in its log between two snapshots."
    )
    return Table("density_ladder", caption, columns, rows)


def _equal_budgets() -> Iterator[Column]:
    return (Column(f"at equal {AXES[axis].label}", "score", True) for axis in LADDER)


def _row(arm: Arm) -> tuple[Value, ...]:
    found = [d for d in map(density, arm.runs) if d is not None]
    if not found:
        return (arm.name, 0, *[Missing("nothing recorded")] * 5)
    nominal: Value = Missing("not recorded") if found[0].nominal is None else found[0].nominal
    yields = [d.per_gigaflop for d in found if d.per_gigaflop is not None]
    furthest = max(found, key=lambda d: d.tokens)
    return (
        arm.name,
        len(found),
        nominal,
        t_interval(d.realised for d in found),
        t_interval(yields) if yields else Missing("no FLOPs recorded"),
        furthest.tokens,
        furthest.targets,
    )
