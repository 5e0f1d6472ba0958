"""How much budget an arm needs to reach a score, and where one overtakes another. Formulas in README.md."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import Literal

import numpy as np

from analysis.records.run_records import Arm, Array, Missing
from analysis.statistics.compare import Comparison
from analysis.statistics.curves import Curve, budget_between, curves_by_seed, interpolate, monotone_fit
from analysis.statistics.intervals import Interval, log_interval
from analysis.statistics.item_errors import CACHED
from analysis.statistics.thresholds import Threshold
from experiments.records.quantities import Quantity


@dataclass(frozen=True)
class Crossing:
    """When a run first reached a threshold.

    `error` is the standard error of the log of the budget over the items that the score was measured on.
    reached: at `budget`, between two snapshots. early: by the first snapshot, an upper bound.
    never: not by the end of a finished run, and unfinished: not yet; both lower bounds.
    """

    budget: float
    kind: Literal["reached", "early", "never", "unfinished"]
    error: float = 0.0
    observed: tuple[float, float] = field(default=(0.0, math.inf), compare=False)
    """The first and the last budget at which the run was measured."""


@dataclass(frozen=True)
class BudgetRatios:
    """Budget of an arm over that of its reference, by seed; `interval` is missing when a seed is censored."""

    exact: dict[int, float] = field(default_factory=dict)
    errors: dict[int, float] = field(default_factory=dict)
    """Standard errors of the logs of the exact ratios, over items."""
    at_least: dict[int, float] = field(default_factory=dict)
    at_most: dict[int, float] = field(default_factory=dict)
    unknown: dict[int, str] = field(default_factory=dict)
    restricted: dict[int, float] = field(default_factory=dict)
    """Of the seeds that are finished in both arms, with budgets cut to what both arms were observed over: never counts
    as at the end, and early as at the first snapshot."""

    @property
    def censored(self) -> str:
        """How many seeds have no exact ratio; empty where all have one."""
        censored = len(self.at_least) + len(self.at_most) + len(self.unknown)
        return f"{censored} of {censored + len(self.exact)} seeds censored" if censored else ""

    @cached_property
    def interval(self) -> Interval | Missing:
        """Geometric mean of the exact ratios with the interval of their logs."""
        if self.censored:
            return Missing(self.censored)
        return log_interval(self.exact.values(), self.errors.values()) if self.exact else Missing("no common seed")

    @property
    def restricted_interval(self) -> Interval | Missing:
        """Geometric mean of the restricted ratios with the interval of their logs: the ratio of restricted mean log
        budgets (Royston and Parmar 2013, BMC Medical Research Methodology 13), which every finished seed enters."""
        if len(self.restricted) < len(self.exact) + len(self.at_least) + len(self.at_most) + len(self.unknown):
            return Missing("some seeds are not finished, or met the threshold before training")
        errors = (self.errors.get(seed, 0.0) for seed in self.restricted)
        return log_interval(self.restricted.values(), errors) if self.restricted else Missing("no common seed")

    @property
    def bound(self) -> str:
        """What holds in every seed although some are censored: `≥ 2.1`, `≤ 0.4`, or nothing ("")."""
        if self.unknown or not (self.at_least or self.at_most):
            return ""
        if not self.at_most:
            least = math.floor(100 * min((*self.exact.values(), *self.at_least.values()))) / 100
            return f"≥ {least:.2f} in every seed"
        if not self.at_least:
            most = math.ceil(100 * max((*self.exact.values(), *self.at_most.values()))) / 100
            return f"≤ {most:.2f} in every seed"
        return ""


@dataclass(frozen=True)
class Crossover:
    """Where the lead between an arm and its reference changes in one seed; None where it never does."""

    first: float | None
    last: float | None
    """From here to the end of the run the lead does not change again."""
    changes: int
    leads_at_end: bool | None
    """Whether the arm leads at the end; None when the two are equal throughout."""


def first_crossing(curve: Curve, threshold: float, falling: bool = False, logarithmic: bool = False) -> Crossing:
    """First crossing of the monotone fit, interpolated linearly in log budget between two of its steps.

    Its standard error is how far apart, in log budget, thresholds are crossed that differ by that of the score there.
    In a segment that starts at budget 0 the interpolation is linear in budget. `falling`: lower is better.
    `logarithmic`: fitted and interpolated in the log of the value, where all are positive.
    """
    logarithmic = logarithmic and min(curve.y.min(), threshold) > 0
    sign = -1.0 if falling else 1.0
    places, levels = monotone_fit(curve.x, sign * (np.log(curve.y) if logarithmic else curve.y))

    def crossing(of: float) -> Crossing:
        return _crossing(curve, places, levels, sign * (math.log(of) if logarithmic else of))

    found = crossing(threshold)
    if found.kind != "reached" or not curve.errors.any():
        return found
    error = float(interpolate(curve.x, curve.errors, np.asarray([found.budget]))[0])
    beside = [crossing(of) for of in (threshold - error, threshold + error) if of > 0 or not logarithmic]
    distances = [abs(math.log(one.budget / found.budget)) for one in beside if one.kind == "reached" and one.budget > 0]
    if not distances:  # the curve is too short to say more than that it may be anywhere on it
        distances = [math.log(curve.x[-1] / found.budget), math.log(found.budget / curve.x[curve.x > 0][0])]
        return replace(found, error=max(distances))
    return replace(found, error=sum(distances) / len(distances))


def _crossing(curve: Curve, places: Array, levels: Array, wanted: float) -> Crossing:
    """Where the rising steps of a fit reach a level."""
    observed = float(curve.x[0]), float(curve.x[-1])
    above = np.flatnonzero(levels >= wanted)
    if not above.size:
        return Crossing(float(curve.x[-1]), "never" if curve.finished else "unfinished", observed=observed)
    i = int(above[0])
    if i == 0:
        return Crossing(float(places[0]), "early", observed=observed)
    fraction = (wanted - levels[i - 1]) / (levels[i] - levels[i - 1])
    return Crossing(budget_between(places[i - 1], places[i], float(fraction)), "reached", observed=observed)


@lru_cache(maxsize=CACHED)
def crossings(arm: Arm, threshold: Threshold, axis: str) -> dict[int, Crossing]:
    """First crossing of every seed that recorded the quantity."""
    quantity, value = threshold.quantity, threshold.value
    falling, logarithmic = quantity.better == "lower", quantity.scale == "log"
    seeds = curves_by_seed(arm, quantity, axis)
    return {curve.seed: first_crossing(curve, value, falling, logarithmic) for curve in seeds}


@lru_cache(maxsize=CACHED)
def counted_crossings(arm: Arm, threshold: Threshold, axis: str) -> dict[int, Crossing]:
    """The crossings that enter means and ratios: of the finished runs, or of all where none is finished.

    Leaving out unfinished runs only where they have not crossed yet would keep the fast ones.
    """
    finished = {run.seed for run in arm.runs if run.finished}
    found = crossings(arm, threshold, axis)
    return {seed: c for seed, c in found.items() if seed in finished} or found


def mean_budget(found: dict[int, Crossing]) -> Interval | Missing:
    """Geometric mean over seeds with its interval; missing when a seed is censored: the others alone would mislead."""
    if not found:
        return Missing("nothing recorded")
    kinds = [c.kind for c in found.values()]
    words = {"early": "by the first snapshot", "never": "never", "unfinished": "not yet"}
    parts = [f"{words[kind]} in {kinds.count(kind)}" for kind in words if kind in kinds]
    if parts:
        return Missing(f"{', '.join(parts)} of {len(found)} seeds")
    return log_interval((c.budget for c in found.values()), (c.error for c in found.values()))


def budget_ratios(arm: dict[int, Crossing], reference: dict[int, Crossing], seeds: Sequence[int]) -> BudgetRatios:
    """Budget ratio arm / reference over the seeds both have; a censored seed leaves a bound or nothing."""
    result = BudgetRatios()
    for seed in seeds:
        if seed not in arm or seed not in reference:
            continue
        a, b = arm[seed], reference[seed]
        first, last = max(a.observed[0], b.observed[0]), min(a.observed[1], b.observed[1])
        if 0 < first <= last and "unfinished" not in (a.kind, b.kind):
            ours, theirs = (min(max(one.budget, first), last) for one in (a, b))
            result.restricted[seed] = ours / theirs
        if min(a.budget, b.budget) <= 0:
            result.unknown[seed] = "met before training"
        elif a.kind == b.kind == "reached":
            result.exact[seed] = a.budget / b.budget
            result.errors[seed] = math.hypot(a.error, b.error)
        elif a.kind in ("reached", "never", "unfinished") and b.kind in ("reached", "early"):
            result.at_least[seed] = a.budget / b.budget
        elif a.kind in ("reached", "early") and b.kind in ("reached", "never", "unfinished"):
            result.at_most[seed] = a.budget / b.budget
        else:
            result.unknown[seed] = f"{a.kind} and {b.kind}"
    return result


def mean_budget_ratio(pair: Comparison, threshold: Threshold, axis: str) -> Interval | Missing:
    """Budget of the arm over that of its reference, paired by seed, or why there is none."""
    why_not = pair.incomparable(threshold.quantity)
    if why_not is not None:
        return why_not
    ratios = paired_budget_ratios(pair, threshold, axis)
    interval, restricted = ratios.interval, ratios.restricted_interval
    if not isinstance(interval, Missing):
        return interval
    reasons = [interval.reason, ratios.bound]
    if ratios.censored and isinstance(restricted, Interval) and not restricted.no_conclusion:
        ends = f"[{restricted.low:.2f}, {restricted.high:.2f}]"
        reasons.append(f"with budgets cut to those observed {restricted.mean:.2f} {ends}")
    return Missing("; ".join(filter(None, reasons)))


@lru_cache(maxsize=CACHED)
def paired_budget_ratios(pair: Comparison, threshold: Threshold, axis: str) -> BudgetRatios:
    """Budget ratios to one threshold over the seeds of a pair."""
    ours, theirs = (counted_crossings(one, threshold, axis) for one in (pair.arm, pair.reference))
    return budget_ratios(ours, theirs, pair.seeds)


def crossover(arm: Curve, reference: Curve, falling: bool = False, logarithmic: bool = False) -> Crossover:
    """Changes of the lead on the union of both curves' snapshots within their common range.

    Where the difference changes sign between two places, the crossing is where the straight line between them
    (in log budget) is zero; after a run of exact ties it is the last tie. `logarithmic`: the curves are read on the
    log scale of values too, when both are positive throughout.
    """
    if logarithmic and min(arm.y.min(), reference.y.min()) > 0:
        arm, reference = (replace(curve, y=np.log(curve.y)) for curve in (arm, reference))
    start, end = max(arm.x[0], reference.x[0]), min(arm.x[-1], reference.x[-1])
    x: Array = np.union1d(arm.x, reference.x)
    x = x[(x >= start) & (x <= end)]
    gap = interpolate(arm.x, arm.y, x) - interpolate(reference.x, reference.y, x)
    gap = -gap if falling else gap
    nonzero = np.flatnonzero(gap)
    found = []
    for before, after in pairwise(nonzero):
        if gap[before] * gap[after] < 0:
            left = after - 1
            fraction = gap[left] / (gap[left] - gap[after])
            found.append(budget_between(x[left], x[after], float(fraction)))
    ahead = bool(gap[nonzero[-1]] > 0) if nonzero.size else None
    return Crossover(found[0] if found else None, found[-1] if found else None, len(found), ahead)


def crossovers(pair: Comparison, quantity: Quantity, axis: str) -> dict[int, Crossover]:
    """Crossover by paired seed, for the seeds of which both recorded the quantity; none where it cannot be compared."""
    if pair.incomparable(quantity) is not None:
        return {}
    ours, theirs = (
        {curve.seed: curve for curve in curves_by_seed(one, quantity, axis)} for one in (pair.arm, pair.reference)
    )
    falling, logarithmic = quantity.better == "lower", quantity.scale == "log"
    return {
        seed: crossover(ours[seed], theirs[seed], falling, logarithmic)
        for seed in pair.seeds
        if seed in ours and seed in theirs
    }
