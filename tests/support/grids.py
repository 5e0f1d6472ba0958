"""Synthetic grids: the files that runs would have left, with curves whose statistics are known."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from analysis.statistics.curves import Curve
from experiments.records import durable, metrics_file, run_directory
from experiments.records.proof import Chain, TrainingProof, training_rows, values_digest, write_done
from experiments.records.quantities import (
    TRAINING,
    Declarations,
    MetricRecord,
    Quantity,
    read_declarations,
    write_declarations,
)
from tests.support.declarations import declaration, metric_records

SNAPSHOTS = (1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000, 200_000)
BATCH = 1_000
Course = Callable[[float, int], float]
"""The value of a quantity after so many tokens, in one seed."""


@dataclass(frozen=True)
class ArmPlan:
    """One arm: `quantities` gives the course of each quantity that its runs record, `declared` how those are declared
    that are not shipped."""

    arm: str
    objective: str
    attention: str
    quantities: dict[str, Course] = field(default_factory=dict)
    density: float = 1.0
    question: str = "next token"
    numeric: dict[str, float] = field(default_factory=dict)
    categorical: dict[str, str] = field(default_factory=dict)
    declared: tuple[Quantity, ...] = ()
    settings: dict[str, Any] = field(default_factory=dict)
    """Of its metrics."""
    factors: dict[str, str] = field(default_factory=dict)
    pairing: dict[str, Any] = field(default_factory=dict)
    stream: int = 7
    corpus: str | None = "KingJames"


def rising(start: float, end: float, half: float, noise: float = 0.0) -> Course:
    """start → end, half of the way at `half` tokens; seeds differ by `noise`, the same for every arm."""

    def value(tokens: float, seed: int) -> float:
        wobble = noise * math.sin(7.3 * seed + 3.1 * math.log1p(tokens))
        return start + (end - start) * tokens / (tokens + half * (1 + 0.1 * seed)) + wobble

    return value


def curve(x: Sequence[float], y: Sequence[float], seed: int = 0, finished: bool = True) -> Curve:
    """A curve as statistics read it."""
    return Curve(seed, np.asarray(x, float), np.asarray(y, float), finished, np.zeros(len(y)))


CLM = ArmPlan("clm", "CLM", "causal", density=0.99, factors={"objective": "clm"})


def masked(rate: float = 0.15, mix: str = "80/10/10", **changes: Any) -> ArmPlan:
    """A masked model with a mask rate and a corruption mix."""
    plan = ArmPlan(
        "mlm",
        "MLM",
        "bidirectional",
        density=0.15,
        question=f"masked tokens ({100 * rate:g} %, {mix})",
        numeric={"mask rate": rate},
        categorical={"corruption mix": mix},
        factors={"objective": "mlm"},
    )
    return replace(plan, **changes)


MLM = masked()
PREFIX = ArmPlan(
    "prefix, half",
    "PrefixLM",
    "bidirectional",
    density=0.5,
    question="second half of a document",
    factors={"objective": "prefix, half"},
)
"""A third objective, neither causal nor with a mask rate, and with a comma in its name."""


def constant(value: float) -> Course:
    return lambda tokens, seed: value


def on_text(plan: ArmPlan, half: float, best: float = 0.8, noise: float = 0.004) -> ArmPlan:
    """The plan with all that a run on text records: shared metrics, own losses, losses at common mask rates."""
    quantities = {
        "probe/books/accuracy": rising(0.38, best, half, noise),
        "probe/books/macro_f1": rising(0.2, best - 0.05, half, noise),
        "probe/books/majority_accuracy": constant(0.4),
        "word_swap/accuracy": rising(0.5, best - 0.1, half, noise),
        "validation/loss": lambda t, s: 8.0 - rising(0, 4, half)(t, s),
        "train/loss": lambda t, s: 8.1 - rising(0, 4, half, noise * 8)(t, s),
    }
    if plan.numeric:
        for rate in (0.15, 0.3, 0.5):
            quantities[f"cloze/{rate:g}/loss"] = _cloze_loss(rate, half)
    return replace(plan, quantities=quantities)


def _cloze_loss(rate: float, half: float) -> Course:
    return lambda tokens, seed: 8.0 + rate - rising(0, 4, half)(tokens, seed)


STATES_ACCURACY = "probe/states/accuracy"
BAYES_ACCURACIES = {"token": 0.57, "past": 0.80, "both": 0.91}


def falling(start: float, power: float = 0.5) -> Course:
    """start · tokens^−power, a straight line in log–log; each seed starts 10 % higher than the one before."""
    return lambda tokens, seed: start * (1 + 0.1 * seed) * tokens**-power


def on_known_rules(
    plan: ArmPlan, excess: Course, bayes_loss: float, states: Course, standard_error: float = 0.01
) -> ArmPlan:
    """The plan with what a run on a language with known rules records."""
    quantities: dict[str, Course] = {
        "validation/loss": lambda t, s: bayes_loss + excess(t, s),
        "validation/bayes_loss": constant(bayes_loss),
        "validation/excess_loss": excess,
        "validation/excess_loss_standard_error": constant(standard_error),
        STATES_ACCURACY: states,
        "probe/states/macro_f1": states,
        "probe/states/majority_accuracy": constant(0.1),
    }
    quantities |= {f"probe/states/bayes_accuracy_{k}": constant(value) for k, value in BAYES_ACCURACIES.items()}
    if plan.numeric:
        quantities |= {
            "cloze/0.3/excess_loss": excess,
            "cloze/0.3/excess_loss_standard_error": constant(standard_error),
        }
    factors = {"language": "known rules", "arm": plan.arm}
    arm = f"known rules; {plan.arm}"
    pairing = {"data": "rules"}
    return replace(plan, quantities=quantities, corpus="HiddenMarkov", factors=factors, arm=arm, pairing=pairing)


def minimal(plan: ArmPlan, half: float = 8_000) -> ArmPlan:
    """The plan with one shared metric and one loss: a report of it is drawn in a second or two."""
    quantities = {"word_swap/accuracy": rising(0.5, 0.8, half, 0.003), "validation/loss": rising(8, 4, half)}
    return replace(plan, quantities=quantities)


def in_language(plan: ArmPlan, language: str, **changes: Any) -> ArmPlan:
    """The plan as an arm of a grid with an axis `language`, without quantities."""
    factors = {"language": language, "arm": plan.arm}
    return replace(plan, quantities={}, factors=factors, arm=f"{language}; {plan.arm}", **changes)


def run_record(plan: ArmPlan, seed: int) -> dict[str, Any]:
    """What run.json says of a run."""
    return {
        "name": f"{plan.arm}-s{seed}",
        "hash": "0" * 8,
        "seed": seed,
        "arm": plan.arm,
        "factors": plan.factors,
        "objective": plan.objective,
        "attention": plan.attention,
        "traits": {"question": plan.question, "numeric": plan.numeric, "categorical": plan.categorical},
        "budget_tokens": SNAPSHOTS[-1],
        "nominal_density": plan.density,
        "language": "en",
        "corpus": plan.corpus,
        "title": "",
    }


def declarations(plan: ArmPlan) -> Declarations:
    """What quantities.json says of a run."""
    own = {quantity.name: quantity for quantity in plan.declared}
    names = [*plan.quantities, "ledger/targets"]
    measured = [name for name in names if name not in own and name not in TRAINING]
    metrics = metric_records(measured, plan.settings)
    metrics += tuple(MetricRecord("my.Metric", plan.settings, {}, (name,)) for name in own)
    return Declarations({name: own.get(name) or declaration(name) for name in names}, metrics)


def proved(declared: Declarations, rows: Sequence[metrics_file.Row]) -> Declarations:
    """The declarations with the proof that each metric has measured its rows."""
    places = {row.tokens for row in rows}

    def measured_at(metric: MetricRecord) -> dict[int, str]:
        own = [row for row in rows if row.quantity in metric.quantities]
        return {
            at: values_digest(at, {row.quantity: row.value for row in own if row.tokens == at}) for at in sorted(places)
        }

    return replace(declared, metrics=tuple(replace(one, measured_at=measured_at(one)) for one in declared.metrics))


def write_run(
    run: Path, plan: ArmPlan, seed: int, tokens: int = SNAPSHOTS[-1], state: str = "done", **status: Any
) -> dict[str, Any]:
    """Leave the files of one run that read `tokens` tokens; returns its run.json."""
    run.mkdir(parents=True, exist_ok=True)
    record = run_record(plan, seed)
    durable.write_json(run / run_directory.RUN, record)
    pairing = {"encoder": f"e{seed}", "tokenizer": "t", "data": "d", "world_size": 1} | plan.pairing
    durable.write_json(run / run_directory.PAIRING, pairing)
    rows, stream = [], []
    for at in (t for t in SNAPSHOTS if t <= tokens):
        flops, seconds = at * (3e6 + 2e6 * plan.density), at / 9_000 + 0.1 * seed
        position = (at // BATCH, at, round(at * plan.density), flops, seconds)
        recorded = {quantity: course(at, seed) for quantity, course in plan.quantities.items()}
        recorded["ledger/targets"] = position[2]
        rows += [metrics_file.Row(*position, quantity, float(value)) for quantity, value in recorded.items()]
        stream.append(metrics_file.StreamHash(at // BATCH, f"{plan.stream * 1_000 + at + seed:016x}"))
    metrics_file.append_rows(run / metrics_file.METRICS, rows)
    metrics_file.append_rows(run / metrics_file.STREAM, stream)
    write_declarations(run, proved(declarations(plan), rows))
    progress = {"state": state, "step": tokens // BATCH, "tokens": tokens, "budget_tokens": SNAPSHOTS[-1]}
    durable.write_json(run / run_directory.STATUS, progress | {"tokens_per_second": 9000.0} | status)
    if state == "done":
        proof = TrainingProof(tokens, Chain().extended(training_rows(rows)), Chain().extended(stream))
        write_done(run, proof)
    return record


def prove_again(run: Path) -> None:
    """Let a finished run vouch for what its files hold now."""
    rows, stream = metrics_file.read_metrics(run), metrics_file.read_stream(run)
    proof = TrainingProof(rows[-1].tokens, Chain().extended(training_rows(rows)), Chain().extended(stream))
    write_done(run, proof)


def record_parts(run: Path, parts: Mapping[str, Iterable[float]]) -> None:
    """Add what the parts of the items did to some scores at the last snapshot of a run."""
    declared, at = read_declarations(run), str(SNAPSHOTS[-1])
    metrics = [
        replace(one, parts={name: {at: list(parts[name])} for name in one.quantities if name in parts} or one.parts)
        for one in declared.metrics
    ]
    write_declarations(run, replace(declared, metrics=tuple(metrics)))


class GridBuilder:
    """Writes a grid: plans every run, and leaves the files of some."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.planned: list[dict[str, Any]] = []

    def run(self, plan: ArmPlan, seed: int, **options: Any) -> Path:
        where = f"runs/{plan.arm.replace('/', '-').strip('<>')}-s{seed}-{len(self.planned)}"
        self.planned.append({**write_run(self.directory / where, plan, seed, **options), "directory": where})
        return self.directory / where

    def pending(self, plan: ArmPlan, seed: int) -> None:
        measured = ("budget_tokens", "nominal_density", "language", "corpus")
        planned = {key: value for key, value in run_record(plan, seed).items() if key not in measured}
        self.planned.append({**planned, "directory": f"runs/{plan.arm}-s{seed}-pending"})

    def finish(self, **plan: Any) -> Path:
        self.directory.mkdir(parents=True, exist_ok=True)
        durable.write_json(self.directory / run_directory.PLAN, self.planned)
        durable.write_json(self.directory / run_directory.GRID, {"title": "A grid", **plan})  # JSON is YAML
        return self.directory


def write_pair(builder: GridBuilder, seeds: int = 3) -> Path:
    """CLM ahead of MLM, three finished seeds each."""
    for seed in range(seeds):
        builder.run(on_text(CLM, 8_000), seed)
        builder.run(on_text(MLM, 30_000), seed)
    return builder.finish()


def write_two_data_groups(builder: GridBuilder, seeds: int = 3) -> Path:
    """The same two arms on a language with known rules and on the King James Bible."""
    for seed in range(seeds):
        builder.run(on_known_rules(CLM, falling(20), 3.4, rising(0.5, 0.78, 2_000, 0.003)), seed)
        builder.run(on_known_rules(MLM, falling(40), 2.9, rising(0.5, 0.86, 4_000, 0.003)), seed)
    for seed in range(seeds):
        for plan, half in ((CLM, 8_000), (MLM, 30_000)):
            builder.run(on_text(in_language(plan, "King James"), half), seed)
    return builder.finish()
