"""Proof that records are whole: a run keeps how many rows it wrote and a digest of them, apart from the rows.

What training recorded is proved by the checkpoint that a run goes on from, and by DONE when it has ended; what was
measured at snapshots by quantities.json.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from experiments.records import durable
from experiments.records.metrics_file import METRICS, STREAM, Row, StreamHash, as_line, read_metrics, read_stream
from experiments.records.quantities import TRAINING, Declarations, MetricRecord, read_declarations

DONE = "DONE"
FIRST_VALUE = Row._fields.index("quantity")
RESTORE = "restore it from a copy, or move the run's directory away to train the run again"


@dataclass(frozen=True)
class Chain:
    """Rows in their order: their number, and a digest that other rows do not have."""

    rows: int = 0
    digest: str = ""

    def extended(self, rows: Iterable[Row | StreamHash]) -> Chain:
        """The chain with these rows at its end."""
        count, digest = self.rows, self.digest
        for row in rows:
            count, digest = count + 1, hashlib.sha256(f"{digest}{as_line(row)}".encode()).hexdigest()[:32]
        return Chain(count, digest)


@dataclass(frozen=True)
class TrainingProof:
    """All that training has recorded so far."""

    tokens: int = 0
    """Tokens read."""
    rows: Chain = Chain()
    """Of metrics.csv, without what was measured at snapshots."""
    stream: Chain = Chain()
    """Of stream.csv."""

    def plain(self) -> dict[str, Any]:
        """As plain values, for a checkpoint or a file."""
        return asdict(self)

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> TrainingProof:
        """Raises ValueError when the values are not those of `plain`."""
        try:
            proof = cls(plain["tokens"], Chain(**plain["rows"]), Chain(**plain["stream"]))
        except (KeyError, TypeError) as error:
            raise ValueError(f"it holds no proof of what was recorded ({error})") from error
        numbers = (proof.tokens, proof.rows.rows, proof.stream.rows)
        if not all(type(number) is int and number >= 0 for number in numbers):
            raise ValueError(f"it counts {numbers} tokens and rows")
        return proof

    def gap(self, training: Sequence[Row], stream: Sequence[StreamHash], whole: bool = False) -> str:
        """What is wrong with these rows, in words; nothing where they begin with what was recorded, or are just that.

        Args:
            whole: whether there must be no more than that.
        """
        for name, chain, rows in ((METRICS, self.rows, training), (STREAM, self.stream, stream)):
            if len(rows) < chain.rows:
                return f"{name} has {len(rows)} of the {chain.rows} rows that training recorded"
            if Chain().extended(rows[: chain.rows]) != chain or (whole and len(rows) > chain.rows):
                return f"{name} does not hold what training recorded: rows were altered"
        return ""


def training_rows(rows: Iterable[Row]) -> list[Row]:
    """The rows that training itself records."""
    return [row for row in rows if row.quantity in TRAINING]


def write_done(run: Path, proof: TrainingProof) -> None:
    """Say that a run has ended, and what it has recorded."""
    durable.write_json(run / DONE, proof.plain())


def read_done(run: Path) -> TrainingProof:
    """What a run had recorded when it ended. Raises ValueError when the file is damaged."""
    try:
        return TrainingProof.from_plain(durable.read_mapping(run / DONE))
    except ValueError as error:
        raise ValueError(f"{run / DONE} is damaged ({error})") from error


def values_digest(tokens: int, values: Mapping[str, float]) -> str:
    """Digest of what one metric measured at one snapshot."""
    lines = "".join(f"{name},{float(value)!r}\n" for name, value in sorted(values.items()))
    return hashlib.sha256(f"{tokens}\n{lines}".encode()).hexdigest()[:32]


def unproven(rows: Sequence[Row], declared: Declarations) -> dict[str, set[int]]:
    """Class path of a metric -> tokens at the snapshots of which its rows are not those that were measured.

    Rows stand beside those that training recorded at the same step; a row at another place was altered.
    """
    places = {row.step: row[:FIRST_VALUE] for row in rows if row.quantity in TRAINING}
    found: dict[str, set[int]] = defaultdict(set)
    for metric in declared.metrics:
        measured: dict[int, dict[str, float]] = {tokens: {} for tokens in metric.measured_at}
        for row in rows:
            if row.quantity in metric.quantities:
                values = measured.setdefault(row.tokens, {})
                if row[:FIRST_VALUE] != places.get(row.step) or row.quantity in values:
                    found[metric.class_path].add(row.tokens)
                values[row.quantity] = row.value
        for tokens, values in measured.items():
            if metric.measured_at.get(tokens) != values_digest(tokens, values):
                found[metric.class_path].add(tokens)
    return dict(found)


def without_unproven(rows: Sequence[Row], declared: Declarations) -> Declarations:
    """The declarations without the measurements whose rows are not those that were measured: they are made again."""
    found = unproven(rows, declared)

    def kept(metric: MetricRecord) -> MetricRecord:
        wrong = found.get(metric.class_path, set())
        measured_at = {tokens: digest for tokens, digest in metric.measured_at.items() if tokens not in wrong}
        parts = {
            name: {tokens: of for tokens, of in by.items() if int(tokens) in measured_at}
            for name, by in metric.parts.items()
        }
        return replace(metric, measured_at=measured_at, parts=parts)

    return replace(declared, metrics=tuple(map(kept, declared.metrics)))


def is_proven(row: Row, declared: Declarations) -> bool:
    """Whether a row is declared to be what a metric measured there."""
    return any(row.quantity in metric.quantities and row.tokens in metric.measured_at for metric in declared.metrics)


def declarations_or_none(run: Path) -> Declarations:
    """What a run declares; nothing where that is damaged, so that all is measured again."""
    try:
        return read_declarations(run)
    except ValueError:
        return Declarations()


def damage(run: Path) -> str:
    """Why the records of a run that has ended cannot be used and have to be restored, in words; nothing where they
    are whole. What was measured at snapshots is not looked at: it can be measured again.
    """
    try:
        problem = read_done(run).gap(training_rows(read_metrics(run)), read_stream(run), whole=True)
    except ValueError as error:
        problem = str(error)
    return f"{problem}; {RESTORE}" if problem else ""
