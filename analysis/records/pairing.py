"""Proof that two arms differ by their objective alone: equal hashes of everything else, seed by seed."""

from __future__ import annotations

from dataclasses import dataclass

from analysis.records.run_records import Arm, RunRecords

ENCODER = "encoder"
HASHES = {
    ENCODER: "initial encoder weights",
    "tokenizer": "tokenizer",
    "data": "packed data",
    "world_size": "world size",
}
STREAM = "stream of text"


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


def mismatches(left: RunRecords, right: RunRecords) -> list[Mismatch]:
    """Everything that keeps two runs of one seed from being paired; empty when they are.

    The hash of the stream has to agree at every step at which both recorded it, and there has to be such a step.
    """
    details = {what: _hash_mismatch(key, left, right) for key, what in HASHES.items()}
    details[STREAM] = _stream_mismatch(left, right)
    return [Mismatch(what, left.name, right.name, detail) for what, detail in details.items() if detail]


def _hash_mismatch(key: str, left: RunRecords, right: RunRecords) -> str:
    a, b = ((run.pairing or {}).get(key) for run in (left, right))
    if a is None or b is None:
        return _not_recorded_by((left, a is not None), (right, b is not None))
    because = _starts(left, right) if key == ENCODER else ""
    return "" if a == b else f"differs, {str(a)[:12]} against {str(b)[:12]}{because}"


def _starts(left: RunRecords, right: RunRecords) -> str:
    """What two runs start from, in words, where one of them starts from the weights of another run."""
    starts = {run.name: (run.pairing or {}).get("start") for run in (left, right)}
    if not any(starts.values()):
        return ""
    words = (f"{name} from {f'those of run {start}' if start else 'its seed'}" for name, start in starts.items())
    return f" (they start {', '.join(words)})"


def _stream_mismatch(left: RunRecords, right: RunRecords) -> str:
    if not left.stream or not right.stream:
        return _not_recorded_by((left, bool(left.stream)), (right, bool(right.stream)))
    common = sorted(left.stream.keys() & right.stream.keys())
    if not common:
        return "no step at which both recorded its hash"
    differing = [step for step in common if left.stream[step] != right.stream[step]]
    if not differing:
        return ""
    step = differing[0]
    return f"differs from step {step} on, {left.stream[step]} against {right.stream[step]}"


def _not_recorded_by(*runs: tuple[RunRecords, bool]) -> str:
    return f"not recorded by {', '.join(run.name for run, recorded in runs if not recorded)}"


def common_seeds(arm: Arm, reference: Arm) -> list[int]:
    """The seeds of which both arms have recorded something, and which can therefore be checked."""
    recorded = [{run.seed for run in one.runs if run.series} for one in (arm, reference)]
    return sorted(recorded[0] & recorded[1])


def require_paired(arm: Arm, reference: Arm) -> list[int]:
    """The seeds proved to be paired. Raises Unpaired when any common seed is not: none is then compared."""
    seeds = common_seeds(arm, reference)
    found: list[Mismatch] = []
    for seed in seeds:
        left, right = arm.run(seed), reference.run(seed)
        assert left is not None and right is not None
        found += mismatches(left, right)
    if found:
        raise Unpaired(f"{arm.name} and {reference.name} are not paired: " + "; ".join(map(str, found)))
    return seeds
