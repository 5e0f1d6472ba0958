"""The table of what was reached beside what is best possible."""

from __future__ import annotations

from collections.abc import Sequence

from analysis.records.quantities import EXCESS, FLOOR, LOSS, label
from analysis.records.results import Grid
from analysis.records.run_records import Arm, Missing
from analysis.statistics.bayes_accuracy import VIEWS, ceilings, reading
from analysis.statistics.compare import Comparison
from analysis.tables.final_scores import finals
from analysis.tables.table import Column, Table, Value


def best_possible(grid: Grid, pairs: Sequence[Comparison]) -> Table:
    """Final loss, floor and excess by arm; and each probe that has ceilings, beside them."""
    known = ceilings(grid)
    columns = [
        Column("arm"),
        Column("seeds finished"),
        Column("held-out loss, own question", "score", True),
        Column(label(FLOOR), "score"),
        Column(label(EXCESS), "score", True),
    ]
    for one in known:
        name = label(one.quantity)
        columns += [Column(name, "score", True), *(Column(words, "score") for words in VIEWS.values())]
        columns += [Column(f"{name}, less that of the reference", "signed", True), Column("reading")]
    rows: list[tuple[Value, ...]] = []
    for arm in grid.arms:
        done = f"{sum(cell.finished for cell in arm.cells)} of {len(arm.cells)}"
        row: list[Value] = [arm.name, done, finals(arm, LOSS), _floor(arm), finals(arm, EXCESS)]
        for one in known:
            score = finals(arm, one.quantity)
            row += [score, one.token, one.past, one.both]
            row += [_less_reference(arm, one.quantity, pairs), reading(arm, score, one.past)]
        rows.append(tuple(row))
    caption = (
        "At the end of finished runs, mean over seeds [95 % t-interval]: loss on the arm's own question, the lowest "
        "possible on it, and the difference, which can be compared between arms"
    )
    if known:
        caption += (
            "; accuracy of the probe beside the best possible guess from the token alone, the past and both sides. "
            "Intervals are over seeds; all seeds share the probe's test blocks"
        )
    return Table("best_possible", f"{caption}.", tuple(columns), rows)


def _floor(arm: Arm) -> float | Missing:
    """It depends on the questions alone, so it is the same in every seed, up to which blocks were held out."""
    found = finals(arm, FLOOR)
    return found if isinstance(found, Missing) else found.mean


def _less_reference(arm: Arm, quantity: str, pairs: Sequence[Comparison]) -> Value:
    pair = next((pair for pair in pairs if pair.arm.name == arm.name), None)
    return "no reference" if pair is None else pair.difference(quantity)
