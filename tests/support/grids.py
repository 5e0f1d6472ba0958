"""Synthetic grids: the files that runs would have left, with curves whose statistics are known."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from experiments.records import durable, metrics_file, run_directory

SNAPSHOTS = (1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000, 200_000)
BATCH = 1_000
Curve = Callable[[float, int], float]


@dataclass(frozen=True)
class Plan:
    """One arm: `curves` maps a quantity to value(tokens, seed)."""

    arm: str
    objective: str
    curves: dict[str, Curve] = field(default_factory=dict)
    density: float = 1.0
    mask_rate: float | None = None
    mix: list[float] | None = None
    factors: dict[str, str] = field(default_factory=dict)
    pairing: dict[str, Any] = field(default_factory=dict)
    stream: int = 7
    corpus: str | None = "KingJames"


def rising(start: float, end: float, half: float, noise: float = 0.0) -> Curve:
    """start → end, half of the way at `half` tokens; seeds differ by `noise`, the same for every arm."""

    def value(tokens: float, seed: int) -> float:
        wobble = noise * math.sin(7.3 * seed + 3.1 * math.log1p(tokens))
        return start + (end - start) * tokens / (tokens + half * (1 + 0.1 * seed)) + wobble

    return value


CLM = Plan("clm", "CLM", density=0.99, factors={"objective": "clm"})
MLM = Plan("mlm", "MLM", density=0.15, mask_rate=0.15, mix=[0.8, 0.1, 0.1], factors={"objective": "mlm"})


def yardsticks(plan: Plan, half: float, best: float = 0.8, noise: float = 0.004) -> Plan:
    """The plan with the full set of quantities a run records."""
    floor = lambda tokens, seed: 0.4  # noqa: E731
    curves = {
        "probe/books/accuracy": rising(0.38, best, half, noise),
        "probe/books/macro_f1": rising(0.2, best - 0.05, half, noise),
        "probe/books/majority_accuracy": floor,
        "word_swap/accuracy": rising(0.5, best - 0.1, half, noise),
        "validation/loss": lambda t, s: 8.0 - rising(0, 4, half)(t, s),
        "train/loss": lambda t, s: 8.1 - rising(0, 4, half, noise * 8)(t, s),
    }
    if plan.mask_rate is not None:
        for rate in (0.15, 0.3, 0.5):
            curves[f"cloze/{rate:g}/loss"] = lambda t, s, r=rate: 8.0 + r - rising(0, 4, half)(t, s)
    return replace(plan, curves=curves)


CEILINGS = {"token": 0.57, "past": 0.80, "both": 0.91}


def falling(start: float, power: float = 0.5) -> Curve:
    """start · tokens^−power, a straight line in log–log; each seed starts 10 % higher than the one before."""
    return lambda tokens, seed: start * (1 + 0.1 * seed) * tokens**-power


def known_rules(plan: Plan, excess: Curve, floor: float, states: Curve, error: float = 0.01) -> Plan:
    """The plan with what a run on a language with known rules records."""
    curves: dict[str, Curve] = {
        "validation/loss": lambda t, s: floor + excess(t, s),
        "validation/bayes_loss": lambda t, s: floor,
        "validation/excess_loss": excess,
        "validation/excess_loss_standard_error": lambda t, s: error,
        "probe/states/accuracy": states,
        "probe/states/macro_f1": states,
        "probe/states/majority_accuracy": lambda t, s: 0.1,
    }
    curves |= {f"probe/states/bayes_accuracy_{view}": lambda t, s, v=value: v for view, value in CEILINGS.items()}
    if plan.mask_rate is not None:
        curves |= {
            "cloze/0.3/excess_loss": excess,
            "cloze/0.3/excess_loss_standard_error": lambda t, s: error,
        }
    factors = {"language": "known rules", "arm": plan.arm}
    arm = f"known rules, {plan.arm}"
    return replace(plan, curves=curves, corpus="HiddenMarkov", factors=factors, arm=arm, pairing={"data": "rules"})


def write_run(
    run: Path, plan: Plan, seed: int, tokens: int = SNAPSHOTS[-1], state: str = "done", **status: Any
) -> dict[str, Any]:
    """Leave the files of one run that read `tokens` tokens; returns its run.json."""
    run.mkdir(parents=True, exist_ok=True)
    cell = {
        "name": f"{plan.arm}-s{seed}",
        "hash": "0" * 8,
        "seed": seed,
        "arm": plan.arm,
        "factors": plan.factors,
        "objective": plan.objective,
        "mask_rate": plan.mask_rate,
        "corruption_mix": plan.mix,
        "budget_tokens": SNAPSHOTS[-1],
        "nominal_density": plan.density,
        "language": "en",
        "corpus": plan.corpus,
        "title": "",
    }
    durable.write_json(run / run_directory.RUN, cell)
    durable.write_json(
        run / run_directory.PAIRING,
        {"encoder": f"e{seed}", "tokenizer": "t", "data": "d", "world_size": 1} | plan.pairing,
    )
    rows = []
    for at in (t for t in SNAPSHOTS if t <= tokens):
        flops, seconds = at * (3e6 + 2e6 * plan.density), at / 9_000 + 0.1 * seed
        position = (at // BATCH, at, round(at * plan.density), flops, seconds)
        recorded = {quantity: curve(at, seed) for quantity, curve in plan.curves.items()}
        recorded |= {"ledger/targets": position[2], "stream/hash": float(plan.stream * 1_000 + at + seed)}
        rows += [metrics_file.Row(*position, quantity, float(value)) for quantity, value in recorded.items()]
    metrics_file.append_rows(run / metrics_file.METRICS, rows)
    record = {"state": state, "step": tokens // BATCH, "tokens": tokens, "budget_tokens": SNAPSHOTS[-1]}
    durable.write_json(run / run_directory.STATUS, record | {"tokens_per_second": 9000.0} | status)
    if state == "done":
        durable.write_text(run / run_directory.DONE, "")
    return cell


class GridBuilder:
    """Writes a grid: plan every cell, then leave the files of some."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.cells: list[dict[str, Any]] = []

    def run(self, plan: Plan, seed: int, **how: Any) -> Path:
        where = f"runs/{plan.arm.strip('/<>')}-s{seed}-{len(self.cells)}"
        cell = write_run(self.directory / where, plan, seed, **how)
        self.cells.append({**cell, "directory": where})
        return self.directory / where

    def pending(self, plan: Plan, seed: int) -> None:
        scratch = self.directory / "scratch"
        cell = write_run(scratch, plan, seed)
        for path in scratch.iterdir():
            path.unlink()
        scratch.rmdir()
        measured = ("budget_tokens", "nominal_density", "language", "corpus")
        planned = {key: value for key, value in cell.items() if key not in measured}
        self.cells.append({**planned, "directory": f"runs/{plan.arm}-s{seed}-pending"})

    def finish(self, **plan: Any) -> Path:
        self.directory.mkdir(parents=True, exist_ok=True)
        durable.write_json(self.directory / "plan.json", self.cells)
        durable.write_json(self.directory / "grid.yaml", {"title": "A grid", **plan})  # JSON is YAML
        return self.directory


def write_pair(builder: GridBuilder, seeds: int = 3) -> Path:
    """CLM ahead of MLM, three finished seeds each."""
    for seed in range(seeds):
        builder.run(yardsticks(CLM, 8_000), seed)
        builder.run(yardsticks(MLM, 30_000), seed)
    return builder.finish()


def write_two_languages(builder: GridBuilder, seeds: int = 3) -> Path:
    """The same two arms on a language with known rules and on the King James Bible."""
    for seed in range(seeds):
        builder.run(known_rules(CLM, falling(20), 3.4, rising(0.5, 0.78, 2_000, 0.003)), seed)
        builder.run(known_rules(MLM, falling(40), 2.9, rising(0.5, 0.86, 4_000, 0.003)), seed)
    for seed in range(seeds):
        for plan, half in ((CLM, 8_000), (MLM, 30_000)):
            text = replace(plan, factors={"language": "King James", "arm": plan.arm}, arm=f"King James, {plan.arm}")
            builder.run(yardsticks(text, half), seed)
    return builder.finish()
