"""What factors do to final scores: differences by one, its best setting, and how two of them interact."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from analysis.records.factors import Factor, Setting, context_of, held_equal
from analysis.records.results import Results
from analysis.records.run_records import Arm, Missing
from analysis.statistics.compare import Comparison, compare
from analysis.statistics.intervals import Interval, interval_of
from analysis.statistics.item_errors import final_scores
from experiments.records.quantities import Quantity

Cell = tuple[Setting, ...]
"""The settings of the factors varied."""


@dataclass(frozen=True, eq=False)
class Line:
    """Arms that differ by one factor alone: by setting, numbers in order."""

    context: str
    """What else they are, where that tells them from other lines."""
    arms: dict[Setting, Arm]
    reference: Arm

    @property
    def name(self) -> str:
        """Its context; the objective of its arms where there is only one line."""
        return self.context or " and ".join(dict.fromkeys(arm.objective for arm in self.arms.values()))

    @property
    def comparisons(self) -> list[Comparison]:
        """Every other arm against the one at the reference's setting."""
        return [compare(arm, self.reference) for arm in self.arms.values() if arm is not self.reference]


@dataclass(frozen=True, eq=False)
class Surface:
    """Arms that differ by two numeric factors alone: by the settings of both."""

    factors: tuple[Factor, Factor]
    context: str
    """What else they are, where that tells them from others."""
    arms: dict[Cell, Arm]

    @property
    def name(self) -> str:
        """Its context, or the objective of its arms."""
        return self.context or " and ".join(dict.fromkeys(arm.objective for arm in self.arms.values()))


Where = TypeVar("Where")
"""A setting of one factor, or of several."""


@dataclass(frozen=True)
class Best(Generic[Where]):
    """The setting with the best mean over the seeds that are finished at every setting that has scores."""

    setting: Where
    score: Interval
    alike: tuple[Where, ...]
    """Settings whose paired difference to the best one is not distinguishable from 0."""
    unknown: tuple[Where, ...]
    """Settings without a final score."""


@dataclass(frozen=True, eq=False)
class Interaction:
    """How much the effect of one factor changes with another: (a at b − a₀ at b) − (a at b₀ − a₀ at b₀)."""

    factors: tuple[Factor, Factor]
    context: str
    arms: tuple[Arm, Arm, Arm, Arm]
    """In the order of the formula."""
    settings: tuple[Cell, Cell]
    """(a, b) and (a₀, b₀)."""

    @property
    def names(self) -> str:
        one, other = self.factors
        (a, b), (a0, b0) = self.settings
        change = f"({one.text(a)} − {one.text(a0)})"
        return f"{change} at {other.text(b)} − {change} at {other.text(b0)}"

    def difference(self, quantity: Quantity) -> Interval | Missing:
        """Difference of the paired differences of final scores, seed by seed, with its interval."""
        *others, base = self.arms
        pairs = [compare(arm, base) for arm in others]
        why_not = next((why for pair in pairs if (why := pair.incomparable(quantity)) is not None), None)
        if why_not is not None:
            return why_not
        scores = [final_scores(arm, quantity) for arm in self.arms]
        seeds = sorted(set.intersection(*map(set, scores), *(set(pair.seeds) for pair in pairs)))
        if seeds:
            ab, a0b, ab0, a0b0 = scores
            return interval_of((ab[s] - a0b[s]) - (ab0[s] - a0b0[s]) for s in seeds)
        without = (arm.why_missing(quantity) for arm, found in zip(self.arms, scores, strict=True) if not found)
        return next(without, Missing("no seed finished in all four arms"))


def lines(group: Results, factors: Sequence[Factor], factor: Factor) -> list[Line]:
    """The arms to compare by a factor, two or more settings each; what is alike in all else recorded is left out."""
    found = []
    for context, cells in _crossed(group, factors, factor):
        arms = {level: cells[level,] for level in factor.levels if (level,) in cells}
        if len(arms) > 1:
            found.append(Line(context, arms, arms[reference_setting(group, factor, arms)]))
    return found


def reference_setting(group: Results, factor: Factor, among: Iterable[Setting]) -> Setting:
    """That of the reference arm, or else of the first arm planned that has one of these settings."""
    planned = (factor.settings.get(arm) for arm in (group.references.first, *group.arms))
    found = set(among)
    return next(setting for setting in planned if setting in found)


def surfaces(group: Results, factors: Sequence[Factor]) -> list[Surface]:
    """Every two numeric factors that were crossed, at least twice in each."""
    found = []
    for one, other in itertools.combinations([factor for factor in factors if factor.numeric], 2):
        if one.determines(other) or other.determines(one):
            continue
        for context, cells in _crossed(group, factors, one, other):
            if all(len({cell[i] for cell in cells}) > 1 for i in (0, 1)) and len(cells) > 3:
                found.append(Surface((one, other), context, cells))
    return found


def best_setting(arms: Mapping[Where, Arm], quantity: Quantity) -> Best[Where] | Missing:
    """The best setting of some arms, and those not distinguishable from it; or why none can be named."""
    scores = {setting: found for setting, arm in arms.items() if (found := final_scores(arm, quantity))}
    unknown = tuple(setting for setting in arms if setting not in scores)
    if len(scores) < 2:
        return next(arms[setting].why_missing(quantity) for setting in unknown)
    first = next(iter(scores))
    pairs = [compare(arms[setting], arms[first]) for setting in scores if setting != first]
    why_not = next((why for pair in pairs if (why := pair.incomparable(quantity)) is not None), None)
    if why_not is not None:
        return why_not
    seeds = sorted(set.intersection(*map(set, scores.values()), *(set(pair.seeds) for pair in pairs)))
    if not seeds:
        return Missing("no seed finished at all settings")
    means = {setting: interval_of(found[seed] for seed in seeds) for setting, found in scores.items()}
    sign = -1 if quantity.better == "lower" else 1
    best = max(means, key=lambda setting: sign * means[setting].mean)
    differences = {
        setting: interval_of(found[seed] - scores[best][seed] for seed in seeds)
        for setting, found in scores.items()
        if setting != best
    }
    alike = tuple(setting for setting, difference in differences.items() if not difference.excludes(0))
    return Best(best, means[best], alike, unknown)


def interactions(group: Results, factors: Sequence[Factor]) -> list[Interaction]:
    """Every pair of crossed factors: each setting against the reference's, in all other factors equal."""
    found = []
    for one, other in itertools.combinations(factors, 2):
        if one.determines(other) or other.determines(one):
            continue
        for context, cells in _crossed(group, factors, one, other):
            a0, b0 = (
                reference_setting(group, factor, {cell[i] for cell in cells}) for i, factor in enumerate((one, other))
            )
            for a, b in itertools.product(one.levels, other.levels):
                corners = ((a, b), (a0, b), (a, b0), (a0, b0))
                if a != a0 and b != b0 and all(corner in cells for corner in corners):
                    ab, a0b, ab0, a0b0 = (cells[corner] for corner in corners)
                    found.append(Interaction((one, other), context, (ab, a0b, ab0, a0b0), ((a, b), (a0, b0))))
    return found


def _crossed(group: Results, factors: Sequence[Factor], *varied: Factor) -> Iterator[tuple[str, dict[Cell, Arm]]]:
    """The arms by their settings of some factors, all others being equal; without those that nothing tells apart."""
    held = held_equal(factors, *varied)
    having = [arm for arm in group.arms if all(arm in factor.settings for factor in varied)]
    together: dict[tuple[Setting | None, ...], list[Arm]] = {}
    for arm in having:
        together.setdefault(tuple(factor.settings.get(arm) for factor in held), []).append(arm)
    for arms in together.values():
        cells: dict[Cell, list[Arm]] = {}
        for arm in arms:
            cells.setdefault(tuple(factor.settings[arm] for factor in varied), []).append(arm)
        yield context_of(arms[0], held, having), {cell: same[0] for cell, same in cells.items() if len(same) == 1}
