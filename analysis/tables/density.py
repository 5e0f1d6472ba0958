"""The table of supervision density."""

from __future__ import annotations

from analysis.records.results import Results
from analysis.records.run_records import Arm, Missing
from analysis.statistics.density import density
from analysis.statistics.intervals import t_interval
from analysis.tables.table import Column, Table, Value


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
