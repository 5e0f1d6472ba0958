"""Synthetic grids over learning rate × width × arm whose effects on final scores are known."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from analysis.records.read_results import read_results
from analysis.records.results import Results
from tests.support.grids import CLM, MLM, GridBuilder

Effect = Callable[[str, float, int], float]
"""The final score of an arm at a learning rate and a width."""


def additive(arm: str, rate: float, width: int) -> float:
    """Best at 0.001; better when wide; CLM better."""
    return 0.6 - 0.02 * abs(math.log10(rate / 0.001)) + 0.01 * (width == 128) - 0.05 * (arm == "mlm")


def crossed_grid(
    builder: GridBuilder,
    effect: Effect = additive,
    rates: Sequence[float] = (0.0003, 0.001, 0.003),
    widths: Sequence[int] = (64, 128),
    seeds: int = 3,
    skip: Callable[[str, float, int, int], bool] = lambda arm, rate, width, seed: False,
    quantity: str = "word_swap/accuracy",
    pairing: Callable[[float], dict[str, Any]] = lambda rate: {},
    noise: float = 0.001,
    reference: str | None = None,
    **options: Any,
) -> Results:
    """A grid of which only runs to `skip` are not begun. Seeds shift all arms alike, and each a little by itself."""
    for i, rate in enumerate(rates):
        for j, width in enumerate(widths):
            for k, plan in enumerate((CLM, MLM)):
                factors = {"learning_rate": f"{rate:g}", "width": str(width), "arm": plan.arm}
                name = "; ".join(factors.values())

                def course(t: float, s: int, at: tuple[Any, ...] = (plan.arm, rate, width), n: int = 4 * i + 2 * j + k):
                    return effect(*at) + 0.01 * s + noise * math.sin(7.3 * s + 2.9 * n)

                for seed in range(seeds):
                    cell = replace(
                        plan, arm=name, factors=factors, pairing=pairing(rate), quantities={quantity: course}
                    )
                    if skip(plan.arm, rate, width, seed):
                        builder.pending(cell, seed)
                    else:
                        builder.run(cell, seed, **options)
    return read_results(builder.finish(**({"reference": reference} if reference else {})))
