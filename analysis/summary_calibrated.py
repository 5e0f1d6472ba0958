"""In plain words, how far each arm is from the best possible loss and from the ceilings of a probe."""

from __future__ import annotations

from analysis.ceilings import Ceilings, ceilings, reading
from analysis.cells import Arm, Missing
from analysis.load import Grid
from analysis.quantities import EXCESS, label, sentence
from analysis.tables import show
from analysis.tables_scores import finals


def best_possible(grid: Grid) -> list[str]:
    """A sentence on the excess of every arm, and one on each probe that has ceilings; nothing where unknown."""
    said = []
    if EXCESS in grid.quantities:
        each = "; ".join(f"{arm.name} {_score(arm, EXCESS)}" for arm in grid.arms)
        said.append(f"Nats per target above the best possible loss, at the end: {each}.")
    return [*said, *(_beside(grid, known) for known in ceilings(grid))]


def _beside(grid: Grid, known: Ceilings) -> str:
    each = []
    for arm in grid.arms:
        score = finals(arm, known.quantity)
        words = reading(arm, score, known.past)
        each.append(f"{arm.name} {words if isinstance(score, Missing) else f'{_score(arm, known.quantity)}, {words}'}")
    return (
        f"{sentence(label(known.quantity))}, at the end: {'; '.join(each)}. The best possible guess reaches "
        f"{known.token:.3f} from the token alone, {known.past:.3f} from the past, which no causal model can pass, and "
        f"{known.both:.3f} from both sides, which no model can."
    )


def _score(arm: Arm, quantity: str) -> str:
    score = finals(arm, quantity)
    return str(score) if isinstance(score, Missing) else f"{show(score, 'score')} (n = {score.n})"
