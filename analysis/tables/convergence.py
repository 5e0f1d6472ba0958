"""The tables of convergence: budgets to thresholds, their ratios, and where the lead changes."""

from __future__ import annotations

from collections.abc import Sequence

from analysis.records.quantities import AXES, label
from analysis.records.results import Grid
from analysis.records.run_records import Missing
from analysis.statistics.compare import Comparison
from analysis.statistics.convergence import comparable, counted, crossings, crossovers, mean_budget, ratio
from analysis.statistics.intervals import Interval, log_interval
from analysis.statistics.thresholds import Threshold
from analysis.tables.table import Column, Table, Value


def budgets(grid: Grid, goals: Sequence[Threshold], axes: Sequence[str], name: str, shown: bool) -> Table:
    """Budget to each threshold by arm, geometric mean over seeds."""
    columns = (
        Column("quantity"),
        Column("threshold", "score"),
        Column("where it comes from"),
        Column("arm"),
        Column("seeds counted", "count"),
        *(Column(AXES[axis].label, "budget", True) for axis in axes),
    )
    rows = [
        (
            label(goal.quantity),
            goal.value,
            goal.origin,
            arm.name,
            len(counted(arm, goal, axes[0])),
            *(mean_budget(counted(arm, goal, axis)) for axis in axes),
        )
        for goal in goals
        for arm in grid.arms
    ]
    caption = "Budget needed to reach each threshold: geometric mean over seeds with its 95 % t-interval."
    return Table(name, caption, columns, rows, shown)


def budgets_by_seed(grid: Grid, goals: Sequence[Threshold]) -> Table:
    """First crossing of every run, on every axis."""
    columns = (
        *map(Column, ("quantity", "threshold", "arm", "seed", "axis")),
        Column("budget", "budget"),
        Column("kind"),
    )
    rows: list[tuple[Value, ...]] = []
    for goal in goals:
        for arm in grid.arms:
            for axis in AXES:
                found = crossings(arm, goal, axis)
                for seed, c in found.items():
                    rows.append((goal.quantity, goal.value, arm.name, seed, axis, c.budget, c.kind))
    caption = "First crossings; never, unfinished: lower bounds; early: upper bound."
    return Table("budgets_by_seed", caption, columns, rows, shown=False)


def ratio_cell(pair: Comparison, goal: Threshold, axis: str) -> Interval | Missing:
    """Budget of the arm over that of its reference, paired by seed, or why there is none."""
    if pair.refusal is not None:
        return Missing("refused: not paired")
    if not comparable(goal.quantity, pair.arm, pair.reference):
        return Missing("the two arms are asked different questions")
    ours, theirs = (counted(one, goal, axis) for one in (pair.arm, pair.reference))
    found = ratio(ours, theirs, pair.seeds)
    interval = found.interval
    if isinstance(interval, Missing) and found.bound:
        return Missing(f"{interval.reason}; {found.bound}")
    return interval


def ratios(pairs: Sequence[Comparison], goals: Sequence[Threshold]) -> Table:
    """Budget ratios on every axis."""
    columns = (
        Column("ratio"),
        Column("quantity"),
        Column("threshold", "score"),
        *(Column(axis.label, "ratio", True) for axis in AXES.values()),
    )
    rows = [
        (
            f"{pair.arm.name} / {pair.reference.name}",
            label(goal.quantity),
            goal.value,
            *(ratio_cell(pair, goal, axis) for axis in AXES),
        )
        for pair in pairs
        for goal in goals
    ]
    caption = (
        "Budget ratio to the same threshold, paired by seed: geometric mean with the 95 % t-interval of "
        "its log. Above 1 the first arm needs more. A seed that never gets there leaves a bound and no "
        "interval."
    )
    return Table("budget_ratios", caption, columns, rows)


def lead(pairs: Sequence[Comparison], quantities: Sequence[str], axis: str) -> Table:
    """Where the lead changes, by pair; intervals only where it changes in every seed."""
    columns = (
        Column("pair"),
        Column("quantity"),
        Column("lead changes in"),
        Column(f"first time ({AXES[axis].label})", "budget", True),
        Column(f"for good ({AXES[axis].label})", "budget", True),
        Column("ahead at the last common snapshot"),
    )
    rows: list[tuple[Value, ...]] = []
    for pair in pairs:
        for quantity in quantities:
            found = crossovers(pair.arm, pair.reference, quantity, axis, pair.seeds)
            names = f"{pair.arm.name} and {pair.reference.name}"
            if pair.refusal is not None or not found:
                why = Missing("refused: not paired" if pair.refusal is not None else "no common seed")
                rows.append((names, label(quantity), why, why, why, why))
                continue
            changing = [c for c in found.values() if c.changes]
            every = len(changing) == len(found)
            never = "the lead never changes"
            partly = Missing(f"changes in {len(changing)} of {len(found)} seeds" if changing else never)
            first, last = (
                log_interval(c for c in budgets if c) if every and all(budgets) else partly
                for budgets in ([c.first for c in changing], [c.last for c in changing])
            )
            ends = [c.leads_at_end for c in found.values()]
            counts = [(pair.arm.name, ends.count(True)), (pair.reference.name, ends.count(False))]
            ahead = ", ".join(f"{who} in {k}" for who, k in counts if k) or "neither"
            rows.append((names, label(quantity), f"{len(changing)} of {len(found)} seeds", first, last, ahead))
    caption = "Where one arm overtakes the other: geometric mean over seeds, given where the lead changes in each."
    return Table("crossovers", caption, columns, rows)


def lead_by_seed(pairs: Sequence[Comparison], quantities: Sequence[str]) -> Table:
    """Changes of the lead in every paired seed, on every axis."""
    columns = tuple(
        map(
            Column,
            (
                "arm",
                "reference",
                "quantity",
                "axis",
                "seed",
                "changes",
                "first",
                "for good",
                "ahead at the end",
            ),
        )
    )
    rows: list[tuple[Value, ...]] = []
    never = Missing("the lead never changes")
    for pair in pairs:
        for quantity in quantities:
            for axis in AXES:
                for seed, c in crossovers(pair.arm, pair.reference, quantity, axis, pair.seeds).items():
                    ahead = {True: pair.arm.name, False: pair.reference.name, None: "neither"}[c.leads_at_end]
                    ends: list[Value] = [never if end is None else end for end in (c.first, c.last)]
                    rows.append((pair.arm.name, pair.reference.name, quantity, axis, seed, c.changes, *ends, ahead))
    return Table("crossovers_by_seed", "Changes of the lead by seed.", columns, rows, shown=False)
