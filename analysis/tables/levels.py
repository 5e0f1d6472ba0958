"""The tables of scores beside the levels that they are read against: chance, baselines and bounds."""

from __future__ import annotations

from analysis.records.labels import with_unit
from analysis.records.results import Results
from analysis.records.run_records import finished_of_planned
from analysis.statistics.compare import mean_final_score
from analysis.statistics.levels import levels_of, verdict
from analysis.tables.table import Column, Table, Value, file_name
from experiments.records.quantities import Quantity


def levels_table(group: Results, score: Quantity) -> Table | None:
    """Final score by arm beside each of its levels; None where it has none."""
    levels = levels_of(group, score)
    if not levels:
        return None
    columns = (
        Column("arm"),
        Column("seeds finished"),
        Column(with_unit(score), "score", True),
        *(Column(level.in_words, "score") for level in levels),
        Column("verdict"),
    )
    rows: list[tuple[Value, ...]] = [
        (
            arm.name,
            finished_of_planned(arm.runs),
            mean_final_score(arm, score),
            *(level.of(arm) for level in levels),
            verdict(arm, levels),
        )
        for arm in group.arms
    ]
    described = [q.description for q in group.quantities if q.level_of == score.name and q.description]
    caption = (
        f"Final {with_unit(score)}, mean over seeds [95 % interval], beside what it is read against. The verdict "
        "rests on differences by seed, with the luck of the items in the score and in the level."
    )
    return Table(f"levels_{file_name(score.name)}", " ".join([caption, *dict.fromkeys(described)]), columns, rows)
