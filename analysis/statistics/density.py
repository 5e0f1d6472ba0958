"""Supervision density: how many targets there are for each token read, and what a target costs in FLOPs."""

from __future__ import annotations

from dataclasses import dataclass

from analysis.records.run_records import RunRecords


@dataclass(frozen=True)
class Density:
    """Totals of one run at its last row: targets per token, nominal and realised, and per 10⁹ FLOPs."""

    nominal: float | None
    realised: float
    per_gigaflop: float | None
    """None when no FLOPs were recorded."""
    tokens: int
    targets: int


def density(run: RunRecords) -> Density | None:
    """Density of one run from the cumulative axes of its last row; None before the first token."""
    row = run.last_row
    if row is None or row.tokens <= 0:
        return None
    per_gigaflop = 1e9 * row.targets / row.flops if row.flops > 0 else None
    return Density(run.nominal_density, row.targets / row.tokens, per_gigaflop, row.tokens, row.targets)
