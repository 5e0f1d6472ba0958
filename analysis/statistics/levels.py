"""Levels that a score is read against: chance, baselines, and bounds that no model, or no causal model, can pass."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from analysis.records.results import Results
from analysis.records.run_records import Arm, Missing
from analysis.statistics.compare import mean_final_score
from analysis.statistics.intervals import Interval, Measured, paired_difference
from analysis.statistics.item_errors import CACHED, final_scores, last_measured
from experiments.records.quantities import Quantity

CHANCE = "chance"
BOUNDED = {"causal": "causal models", "all": "any model"}


@dataclass(frozen=True)
class Level:
    """A baseline or a bound of one score."""

    score: Quantity
    name: str
    bounds: str
    """Whose scores it bounds, "causal" or "all"; nothing for a baseline."""
    by_seed: dict[str, dict[int, Measured]]
    """The value last recorded, by arm and seed."""

    @property
    def in_words(self) -> str:
        return f"{self.name}: bound for {BOUNDED[self.bounds]}" if self.bounds else self.name

    @cached_property
    def value(self) -> float | None:
        """The value that all arms share; None where they differ."""
        values = [one.value for seeds in self.by_seed.values() for one in seeds.values()]
        return values[0] if np.ptp(values) <= 1e-9 * max(1.0, abs(values[0])) else None

    @property
    def values(self) -> list[float]:
        """The different values of arms."""
        if self.value is not None:
            return [self.value]
        return [_mean(seeds) for seeds in self.by_seed.values()]

    def of(self, arm: Arm) -> float | Missing:
        """The value of one arm, mean over its seeds."""
        recorded = self.by_seed.get(arm.name)
        return _mean(recorded) if recorded else Missing(f"not recorded by {arm.name}")

    def margin(self, arm: Arm) -> Interval | Missing:
        """How much better the final scores of an arm are, paired by seed; negative where they are worse."""
        scores, levels = final_scores(arm, self.score), self.by_seed.get(arm.name, {})
        ours, theirs = (levels, scores) if self.score.better == "lower" else (scores, levels)
        found = paired_difference(ours, theirs)
        if found is not None:
            return found
        return Missing(f"not recorded by {arm.name}") if scores else arm.why_missing(self.score)


@lru_cache(maxsize=CACHED)
def levels_of(group: Results, score: Quantity) -> list[Level]:
    """Chance and the other baselines, then the bounds; each from the worst to the best."""
    levels = []
    if score.chance is not None:
        chance = {arm.name: {run.seed: Measured(score.chance) for run in arm.runs} for arm in group.arms}
        levels.append(Level(score, CHANCE, "", chance))
    for quantity in group.quantities:
        if quantity.level_of == score.name:
            by_seed = {arm.name: _last_values(arm, quantity) for arm in group.arms}
            by_seed = {name: seeds for name, seeds in by_seed.items() if seeds}
            if by_seed:
                levels.append(Level(score, quantity.label, quantity.bounds, by_seed))
    sign = -1 if score.better == "lower" else 1
    return sorted(levels, key=lambda level: (level.bounds != "", max(sign * value for value in level.values)))


def _last_values(arm: Arm, quantity: Quantity) -> dict[int, Measured]:
    recorded = [run for run in arm.runs if quantity.name in run.series and run.series[quantity.name].values.size]
    return {run.seed: last_measured(run, quantity) for run in recorded}


def _mean(seeds: Mapping[int, Measured]) -> float:
    return float(np.mean([one.value for one in seeds.values()]))


def verdict(arm: Arm, levels: Sequence[Level]) -> str:
    """Where the final scores of an arm lie beside some levels of one score."""
    if not levels:
        return "no level is known"
    score = mean_final_score(arm, levels[0].score)
    if isinstance(score, Missing):
        return str(score)
    if score.no_conclusion:
        return score.no_conclusion
    by_place: dict[str, list[str]] = {"better than": [], "not distinguishable from": [], "worse than": []}
    bounds, bounded = [level for level in levels if level.bounds], []
    for level in levels:
        margin = level.margin(arm)
        if isinstance(margin, Missing) or margin.no_conclusion:
            bounded.append(f"{level.name}: {margin if isinstance(margin, Missing) else margin.no_conclusion}")
        elif level.bounds and (margin.mean > 0 or level.bounds == "causal" or len(bounds) == 1):
            bounded.append(_beside_bound(arm, level, margin))
        elif level.bounds:
            continue  # that no model passes the wider bound says nothing beside the narrower one
        else:
            place = "better than" if margin.mean > 0 else "worse than"
            by_place[place if margin.excludes(0) else "not distinguishable from"].append(level.name)
    return "; ".join([*(f"{place} {', '.join(names)}" for place, names in by_place.items() if names), *bounded])


def _beside_bound(arm: Arm, level: Level, margin: Interval) -> str:
    above, below = ("below", "above") if level.score.better == "lower" else ("above", "below")
    causal = level.bounds == "causal"
    best = f"the best that {'a causal' if causal else 'any'} model can reach"
    if not margin.excludes(0):
        return f"not distinguishable from {best}"
    if margin.mean < 0:
        return f"{below} {best}"
    passed = f"{above} what any {'causal ' if causal else ''}model can reach"
    if not causal:
        return f"{passed}: luck of the test items, or an error"
    return f"{passed}, although it is causal: luck of the test items, or an error" if arm.is_causal else passed


def not_beaten(group: Results, level: Level) -> dict[Arm, Interval]:
    """The arms whose final score is not distinguishably better than a baseline, with that score; where there is no
    interval, those whose mean is not better."""
    found = {}
    for arm in group.arms:
        score, margin = mean_final_score(arm, level.score), level.margin(arm)
        if not isinstance(score, Interval) or not isinstance(margin, Interval):
            continue
        if margin.mean <= 0 or not (margin.excludes(0) or margin.no_conclusion):
            found[arm] = score
    return found
