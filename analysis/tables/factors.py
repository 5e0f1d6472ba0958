"""Tables of what factors do to final scores: by setting, differences, best settings and interactions."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from analysis.records.factors import Factor, Setting
from analysis.records.labels import with_unit
from analysis.records.results import Results
from analysis.records.run_records import Missing, finished_of_planned
from analysis.statistics.compare import mean_final_score
from analysis.statistics.factor_effects import Interaction, Line, best_setting
from analysis.statistics.intervals import Interval
from analysis.tables.published import BY_FACTOR, PublishedScores
from analysis.tables.table import ONE_SEED, Column, Table, Value
from experiments.records.quantities import Quantity

MOST_SHOWN = 30
"""Longer tables of interactions are in their CSV file only."""


def factor_scores_table(group: Results, factor: Factor, quantities: Sequence[Quantity]) -> Table:
    """Final scores by setting; the columns named "published" are of the paper cited, at the same setting."""
    published = BY_FACTOR.get(factor.name)
    metrics = published.metrics if published else ()
    columns = (
        Column(factor.name),
        Column("arm"),
        Column("seeds finished"),
        *(Column(with_unit(q), "score", True) for q in quantities),
        *(Column(f"published: {metric}") for metric in metrics),
    )
    rows: list[tuple[Value, ...]] = []
    for level in factor.levels:
        beside = (published.at(level) if published else None) or (Missing("not in the paper"),) * len(metrics)
        for arm in (arm for arm in group.arms if factor.settings.get(arm) == level):
            scores = (mean_final_score(arm, q) for q in quantities)
            rows.append((factor.text(level), arm.name, finished_of_planned(arm.runs), *scores, *beside))
    caption = f"Final scores by {factor.name}, mean over seeds [95 % interval]."
    if published:
        caption += f" Published: {published.citation}."
    return Table(factor.slug, caption, columns, rows)


def factor_differences_table(factor: Factor, lines: Sequence[Line], quantities: Sequence[Quantity]) -> Table:
    """Paired differences from the arm at the reference's setting, and for which quantities the interval excludes 0."""
    rows: list[tuple[Value, ...]] = [
        (factor.text(factor.settings[pair.arm]), pair.names, *_with_verdict(quantities, pair.difference))
        for line in lines
        for pair in line.comparisons
    ]
    caption = (
        f"Final scores of arms that differ by {factor.name} alone, less those at the reference's setting; paired by "
        "seed, with 95 % intervals."
    )
    return Table(f"{factor.slug}_differences", caption, (Column(factor.name), *_differences(quantities)), rows)


def _differences(quantities: Sequence[Quantity]) -> tuple[Column, ...]:
    scores = (Column(with_unit(quantity), "signed", True) for quantity in quantities)
    return Column("difference"), *scores, Column("distinguishable in")


def _with_verdict(
    quantities: Sequence[Quantity], difference: Callable[[Quantity], Interval | Missing]
) -> tuple[Value, ...]:
    found = [difference(quantity) for quantity in quantities]
    clear = [q.label for q, d in zip(quantities, found, strict=True) if isinstance(d, Interval) and d.excludes(0)]
    return *found, "all" if len(clear) == len(found) else "; ".join(clear) or "nothing"


def best_settings_table(factor: Factor, lines: Sequence[Line], quantities: Sequence[Quantity]) -> Table:
    """The best setting of each line by each quantity, and those that cannot be told from it."""
    columns = (
        Column("arms"),
        Column("quantity"),
        Column(f"best {factor.name}"),
        Column("final score", "score", True),
        Column("not distinguishable from"),
        Column("no final score at"),
    )
    rows: list[tuple[Value, ...]] = []
    for line in lines:
        for quantity in quantities:
            best = best_setting(line.arms, quantity)
            if isinstance(best, Missing):
                rows.append((line.name, with_unit(quantity), best, best, best, best))
                continue
            alike: Value = ONE_SEED if best.score.n == 1 else settings_text(factor, best.alike)
            unknown = settings_text(factor, best.unknown)
            rows.append((line.name, with_unit(quantity), factor.text(best.setting), best.score, alike, unknown))
    caption = (
        f"The {factor.name} with the best mean final score among arms that differ by it alone, over the seeds finished "
        "at all of its settings that have scores, and the settings whose paired difference to it has a 95 % interval "
        "that does not exclude 0."
    )
    return Table(f"{factor.slug}_best", caption, columns, rows)


def settings_text(factor: Factor, settings: Sequence[Setting]) -> str:
    """`15 %; 50 %`, or `none`."""
    return "; ".join(map(factor.text, settings)) or "none"


def interactions_table(found: Sequence[Interaction], quantities: Sequence[Quantity]) -> Table:
    """How much the effect of one factor changes with another."""
    rows: list[tuple[Value, ...]] = [
        (
            " × ".join(factor.name for factor in one.factors),
            one.context or "all",
            one.names,
            *_with_verdict(quantities, one.difference),
        )
        for one in found
    ]
    caption = (
        "How much the effect of one factor changes with another: differences of paired differences of final scores, "
        "seed by seed, with 95 % intervals. Where the interval holds 0, the two effects may simply add up."
    )
    columns = (Column("factors"), Column("arms"), *_differences(quantities))
    return Table("interactions", caption, columns, rows, shown=len(rows) <= MOST_SHOWN)


def published_table(source: PublishedScores, name: str, key: str, text: Callable[[Setting], str]) -> Table:
    """A paper's table as printed there."""
    columns = (Column(key), *(Column(metric) for metric in source.metrics))
    rows: list[tuple[Value, ...]] = [(text(setting), *row) for setting, row in source.scores.items()]
    return Table(name, f"Published, not measured here: {source.citation}.", columns, rows, measured=False)
