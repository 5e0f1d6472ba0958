"""Seeds of an arm that end far from the others, such as those that have not left a plateau that others have."""

from __future__ import annotations

import numpy as np

from analysis.records.results import Results
from analysis.records.run_records import Arm
from analysis.statistics.curves import curves_by_seed
from experiments.records.quantities import Quantity

FAR = 0.25
"""Of what the best arm has gained since its first snapshots: a seed that lacks more of what the best one of its arm has
lies far from it."""
FEWEST = 3
"""Seeds, of which one can be far from the others."""


def late_learners(group: Results, quantity: Quantity) -> dict[Arm, list[float]]:
    """The final scores, best first, of the arms in which a seed lacks more than FAR of the gain."""
    sign = -1 if quantity.better == "lower" else 1
    scores = {arm: sorted(arm.final_scores(quantity).values(), key=lambda score: -sign * score) for arm in group.arms}
    gained = 0.0
    for arm, some in scores.items():
        firsts = [curve.y[0] for curve in curves_by_seed(arm, quantity, "tokens")]
        gained = max(gained, sign * float(np.mean(some) - np.mean(firsts)) if some else 0.0)
    return {
        arm: some
        for arm, some in scores.items()
        if gained > 0 and len(some) >= FEWEST and abs(some[0] - some[-1]) > FAR * gained
    }
