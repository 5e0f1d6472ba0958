"""In plain words, how far each arm is from the best possible loss and from the ceilings of a probe."""

from __future__ import annotations

from analysis.records.quantities import EXCESS, label, sentence
from analysis.records.results import Grid
from analysis.records.run_records import Arm
from analysis.statistics.bayes_accuracy import Ceilings, ceilings, reading
from analysis.statistics.intervals import Interval
from analysis.tables.final_scores import finals
from analysis.tables.table import show


def best_possible(grid: Grid) -> list[str]:
    """A sentence on the excess of every arm, and one on each probe that has ceilings; nothing where unknown."""
    said = []
    if EXCESS in grid.quantities:
        each = [f"{arm.name} {_shown(score)}" for arm, score in _finished(grid, EXCESS)]
        said.append(f"Nats per target above the best possible loss, at the end: {_listed(grid, EXCESS, each)}.")
    return [*said, *(_beside(grid, known) for known in ceilings(grid))]


def _beside(grid: Grid, known: Ceilings) -> str:
    quantity = known.quantity
    each = [
        f"{arm.name} {_shown(score)}, {reading(arm, score, known.past)}" for arm, score in _finished(grid, quantity)
    ]
    return (
        f"{sentence(label(quantity))}, at the end: {_listed(grid, quantity, each)}. The best possible guess reaches "
        f"{known.token:.3f} from the token alone, {known.past:.3f} from the past, which no causal model can pass, and "
        f"{known.both:.3f} from both sides, which no model can."
    )


def _finished(grid: Grid, quantity: str) -> list[tuple[Arm, Interval]]:
    scores = [(arm, finals(arm, quantity)) for arm in grid.arms]
    return [(arm, score) for arm, score in scores if isinstance(score, Interval)]


def _listed(grid: Grid, quantity: str, each: list[str]) -> str:
    have = [arm for arm, _ in _finished(grid, quantity)]
    lack = ", ".join(arm.name for arm in grid.arms if arm not in have)
    return "; ".join([*each, f"no final score yet: {lack}"] if lack else each)


def _shown(score: Interval) -> str:
    return f"{show(score, 'score')} (n = {score.n})"
