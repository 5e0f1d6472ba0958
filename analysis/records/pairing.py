"""Proof that two arms differ by their objective alone: equal hashes of everything else, seed by seed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from analysis.records.run_records import Arm, Cell

HASHES = {
    "encoder": "initial encoder weights",
    "tokenizer": "tokenizer",
    "data": "packed data",
    "world_size": "world size",
}
STREAM = "stream/hash"


class Unpaired(ValueError):
    """Two arms that must not be compared; the message names the hash and the runs."""


@dataclass(frozen=True)
class Mismatch:
    """One thing that should be equal in two runs and is not, or that was not recorded."""

    what: str
    left: str
    right: str
    detail: str

    def __str__(self) -> str:
        return f"{self.what} of {self.left} and {self.right}: {self.detail}"


def mismatches(left: Cell, right: Cell) -> list[Mismatch]:
    """Everything that keeps two runs of one seed from being paired; empty when they are.

    The stream hash has to agree at every step at which both recorded it, and there has to be one such step.
    """
    found = []

    def report(what: str, detail: str) -> None:
        found.append(Mismatch(what, left.name, right.name, detail))

    for key, what in HASHES.items():
        a, b = ((cell.pairing or {}).get(key) for cell in (left, right))
        if a is None or b is None:
            absent = ", ".join(cell.name for cell, value in ((left, a), (right, b)) if value is None)
            report(what, f"not recorded by {absent}")
        elif a != b:
            report(what, f"differs, {_short(a)} against {_short(b)}")
    streams = [cell.series.get(STREAM) for cell in (left, right)]
    if streams[0] is None or streams[1] is None:
        absent = ", ".join(c.name for c, s in zip((left, right), streams, strict=True) if s is None)
        report("stream of text", f"not recorded by {absent}")
        return found
    common, at_left, at_right = np.intersect1d(streams[0].steps, streams[1].steps, return_indices=True)
    if not common.size:
        report("stream of text", "no step at which both recorded its hash")
        return found
    hashes = streams[0].values[at_left], streams[1].values[at_right]
    differing = np.flatnonzero(hashes[0] != hashes[1])
    if differing.size:
        at = differing[0]
        shown = " against ".join(f"{int(h[at]):012x}" for h in hashes)
        report("stream of text", f"differs from step {common[at]} on, {shown}")
    return found


def common_seeds(arm: Arm, reference: Arm) -> list[int]:
    """The seeds of which both arms have recorded something, and which can therefore be checked."""
    have = [{cell.seed for cell in one.cells if cell.series} for one in (arm, reference)]
    return sorted(have[0] & have[1])


def require_paired(arm: Arm, reference: Arm) -> list[int]:
    """The seeds proved to be paired. Raises Unpaired when any common seed is not: none is then compared."""
    seeds = common_seeds(arm, reference)
    found: list[Mismatch] = []
    for seed in seeds:
        left, right = arm.cell(seed), reference.cell(seed)
        assert left is not None and right is not None
        found += mismatches(left, right)
    if found:
        raise Unpaired(f"{arm.name} and {reference.name} are not paired. " + "; ".join(map(str, found)))
    return seeds


def _short(value: object) -> str:
    return str(value)[:12]
