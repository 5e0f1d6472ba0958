"""Supervision density: how many of the tokens read are also asked, and what a target costs in FLOPs."""

from __future__ import annotations

from dataclasses import dataclass

from analysis.records.run_records import Cell

REALISED = "ledger/density"
SUPERVISED = "ledger/targets"


@dataclass(frozen=True)
class Density:
    """Totals of one run at its last row: targets per token, nominal and realised, and per 10⁹ FLOPs."""

    nominal: float | None
    realised: float
    per_gigaflop: float | None
    """None when no FLOPs were recorded."""
    tokens: int
    targets: int


def density(cell: Cell) -> Density | None:
    """Density of one run from the cumulative axes of its last row; None before the first token."""
    row = cell.last
    if row is None or row.tokens <= 0:
        return None
    per_gigaflop = 1e9 * row.targets / row.flops if row.flops > 0 else None
    return Density(cell.nominal_density, row.targets / row.tokens, per_gigaflop, row.tokens, row.targets)
