"""The tables of convergence: budgets to thresholds, their ratios, and where one arm overtakes another."""

from __future__ import annotations

from collections.abc import Sequence

from analysis.records.labels import AXES, with_unit
from analysis.records.results import Results
from analysis.records.run_records import Missing
from analysis.statistics.compare import Comparison
from analysis.statistics.convergence import (
    Crossover,
    counted_crossings,
    crossings,
    crossovers,
    mean_budget,
    mean_budget_ratio,
)
from analysis.statistics.intervals import Interval, log_interval
from analysis.statistics.thresholds import Threshold
from analysis.tables.table import Column, Table, Value
from experiments.records.quantities import Quantity

NEVER = Missing("the lead never changes")


def budgets_table(
    group: Results, thresholds: Sequence[Threshold], axes: Sequence[str], name: str, shown: bool
) -> Table:
    """Budget to each threshold by arm, geometric mean over seeds."""
    columns = (
        Column("quantity"),
        Column("threshold", "threshold"),
        Column("where it comes from"),
        Column("arm"),
        Column("seeds counted", "count"),
        *(Column(AXES[axis].label, "budget", True) for axis in axes),
    )
    rows = [
        (
            with_unit(threshold.quantity),
            threshold.value,
            threshold.origin,
            arm.name,
            len(counted_crossings(arm, threshold, axes[0])),
            *(mean_budget(counted_crossings(arm, threshold, axis)) for axis in axes),
        )
        for threshold in thresholds
        for arm in group.arms
    ]
    caption = "Budget needed to reach each threshold: geometric mean over seeds with its 95 % interval."
    return Table(name, caption, columns, rows, shown)


def budgets_by_seed_table(group: Results, thresholds: Sequence[Threshold]) -> Table:
    """First crossing of every run, on every axis."""
    columns = (
        *map(Column, ("quantity", "threshold", "arm", "seed", "axis")),
        Column("budget", "budget"),
        Column("kind"),
    )
    rows: list[tuple[Value, ...]] = [
        (threshold.quantity.name, threshold.value, arm.name, seed, axis, crossing.budget, crossing.kind)
        for threshold in thresholds
        for arm in group.arms
        for axis in AXES
        for seed, crossing in crossings(arm, threshold, axis).items()
    ]
    caption = "First crossings by seed; never and unfinished: lower bounds; early: upper bound."
    return Table("budgets_by_seed", caption, columns, rows, shown=False)


def budget_ratios_table(pairs: Sequence[Comparison], thresholds: Sequence[Threshold]) -> Table:
    """Budget ratios on every axis."""
    columns = (
        Column("ratio"),
        Column("quantity"),
        Column("threshold", "threshold"),
        *(Column(axis.label, "ratio", True) for axis in AXES.values()),
    )
    rows = [
        (
            f"{pair.arm.name} / {pair.reference.name}",
            with_unit(threshold.quantity),
            threshold.value,
            *(mean_budget_ratio(pair, threshold, axis) for axis in AXES),
        )
        for pair in pairs
        for threshold in thresholds
    ]
    caption = (
        "Budget ratio to the same threshold, paired by seed: geometric mean with the 95 % interval of its log. Above "
        "1 the first arm needs more. A seed in which an arm never reaches the threshold, or has "
        "by the first snapshot, leaves a bound or nothing, and no interval."
    )
    return Table("budget_ratios", caption, columns, rows)


def crossovers_table(pairs: Sequence[Comparison], quantities: Sequence[Quantity], axis: str) -> Table:
    """Where the lead changes, by pair; intervals only where it changes in every seed."""
    columns = (
        Column("pair"),
        Column("quantity"),
        Column("lead changes in"),
        Column(f"first time ({AXES[axis].label})", "budget", True),
        Column(f"for good ({AXES[axis].label})", "budget", True),
        Column("ahead at the last common snapshot"),
    )
    rows: list[tuple[Value, ...]] = [
        (f"{pair.arm.name} and {pair.reference.name}", with_unit(quantity), *_crossover_values(pair, quantity, axis))
        for pair in pairs
        for quantity in quantities
    ]
    caption = (
        "Where one arm overtakes the other: geometric mean over seeds, given where the lead changes in each. Its "
        "interval is over seeds alone: the luck of the items may move it further."
    )
    return Table("crossovers", caption, columns, rows)


def _crossover_values(pair: Comparison, quantity: Quantity, axis: str) -> tuple[Value, ...]:
    """In how many seeds the lead changes, where first, where for good, and who is ahead at the end."""
    why_not = pair.incomparable(quantity)
    if why_not is not None:
        return (why_not,) * 4
    found = list(crossovers(pair, quantity, axis).values())
    if not found:
        return (Missing("no common seed"),) * 4
    ends = [one.leads_at_end for one in found]
    counts = ((pair.arm.name, ends.count(True)), (pair.reference.name, ends.count(False)))
    return (
        f"{sum(one.changes > 0 for one in found)} of {len(found)} seeds",
        _mean_crossover(found, [one.first for one in found]),
        _mean_crossover(found, [one.last for one in found]),
        "; ".join(f"{name} in {count}" for name, count in counts if count) or "neither",
    )


def _mean_crossover(found: Sequence[Crossover], budgets: Sequence[float | None]) -> Interval | Missing:
    changing = sum(one.changes > 0 for one in found)
    positive = [budget for budget in budgets if budget]
    if len(positive) == len(found):
        return log_interval(positive)
    return Missing(f"changes in {changing} of {len(found)} seeds") if changing else NEVER


def crossovers_by_seed_table(pairs: Sequence[Comparison], quantities: Sequence[Quantity]) -> Table:
    """Changes of the lead in every paired seed, on every axis."""
    names = ("arm", "reference", "quantity", "axis", "seed", "changes", "first", "for good", "ahead at the end")
    rows: list[tuple[Value, ...]] = []
    for pair in pairs:
        ahead = {True: pair.arm.name, False: pair.reference.name, None: "neither"}
        for quantity in quantities:
            for axis in AXES:
                for seed, found in crossovers(pair, quantity, axis).items():
                    ends: list[Value] = [NEVER if end is None else end for end in (found.first, found.last)]
                    who = (pair.arm.name, pair.reference.name, quantity.name, axis, seed)
                    rows.append((*who, found.changes, *ends, ahead[found.leads_at_end]))
    caption = "Changes of the lead by seed."
    return Table("crossovers_by_seed", caption, tuple(map(Column, names)), rows, shown=False)
