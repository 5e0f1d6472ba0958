"""The tables by mask rate and by corruption mix, where arms vary them, next to published scores."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from analysis.records.labels import with_unit
from analysis.records.results import Results
from analysis.records.run_records import Arm, Missing, finished_of_planned
from analysis.statistics.compare import Comparison, mean_final_score
from analysis.statistics.intervals import Interval
from analysis.tables.published import MASK_RATE, MIX, PublishedScores
from analysis.tables.table import Column, Table, Value
from experiments.records.quantities import Quantity

Setting = tuple[float, ...]


@dataclass(frozen=True)
class Factor:
    """A setting that arms may differ by; `setting` gives that of an arm, None where it has none."""

    name: str
    title: str
    published: PublishedScores
    setting: Callable[[Arm], Setting | None]
    text: Callable[[Setting], str]
    ordered: bool
    """Whether arms are listed by setting, or as planned."""

    def arms(self, group: Results) -> list[Arm]:
        """The arms that have the factor; none when it does not vary."""
        found = [arm for arm in group.arms if self.setting(arm) is not None]
        if len({self.setting(arm) for arm in found}) < 2:
            return []
        return sorted(found, key=lambda arm: self.setting(arm) or ()) if self.ordered else found


def _rate(arm: Arm) -> Setting | None:
    return None if arm.mask_rate is None else (arm.mask_rate,)


def mix_text(mix: Setting) -> str:
    return "/".join(f"{100 * part:g}" for part in mix)


FACTORS = (
    Factor("mask_rate", "mask rate", MASK_RATE, _rate, lambda rate: f"{100 * rate[0]:g} %", True),
    Factor("corruption_mix", "mask/random/keep", MIX, lambda arm: arm.mix, mix_text, False),
)


def _setting_text(factor: Factor, arm: Arm) -> str:
    setting = factor.setting(arm)
    assert setting is not None
    return factor.text(setting)


def factor_scores_table(factor: Factor, arms: Sequence[Arm], quantities: Sequence[Quantity]) -> Table:
    """Final scores by setting; the columns named "published" are of the paper cited, at the same setting."""
    columns = (
        Column(factor.title),
        Column("arm"),
        Column("seeds finished"),
        *(Column(with_unit(q), "score", True) for q in quantities),
        *(Column(f"published: {metric}") for metric in factor.published.metrics),
    )
    not_published = (Missing("not in the paper"),) * len(factor.published.metrics)
    rows: list[tuple[Value, ...]] = [
        (
            _setting_text(factor, arm),
            arm.name,
            finished_of_planned(arm.runs),
            *(mean_final_score(arm, q) for q in quantities),
            *(factor.published.at(factor.setting(arm) or ()) or not_published),
        )
        for arm in arms
    ]
    caption = f"Final scores by {factor.title}, mean over seeds. Published: {factor.published.citation}."
    return Table(factor.name, caption, columns, rows)


def factor_differences_table(
    factor: Factor, arms: Sequence[Arm], pairs: Sequence[Comparison], quantities: Sequence[Quantity]
) -> Table:
    """Paired differences from the baseline arm, and for which quantities the interval excludes 0."""
    columns = (
        Column(factor.title),
        Column("difference"),
        *(Column(with_unit(q), "signed", True) for q in quantities),
        Column("distinguishable in"),
    )
    rows: list[tuple[Value, ...]] = []
    by_arm = {pair.arm.name: pair for pair in pairs}
    for arm in arms:
        pair = by_arm.get(arm.name)
        if pair is None:
            continue
        found = [pair.difference(q) for q in quantities]
        clear = [q.label for q, d in zip(quantities, found, strict=True) if isinstance(d, Interval) and d.excludes(0)]
        which = "all" if len(clear) == len(found) else "; ".join(clear) or "nothing"
        rows.append((_setting_text(factor, arm), pair.names, *found, which))
    caption = "Final score minus that of the baseline arm, paired by seed, with 95 % t-intervals."
    return Table(f"{factor.name}_differences", caption, columns, rows)


def published_table(source: PublishedScores, name: str, key: str, text: Callable[[Setting], str]) -> Table:
    """A paper's table as printed there."""
    columns = (Column(key), *(Column(metric) for metric in source.metrics))
    rows: list[tuple[Value, ...]] = [(text(setting), *row) for setting, row in source.scores.items()]
    return Table(name, f"Published, not measured here: {source.citation}.", columns, rows, measured=False)
