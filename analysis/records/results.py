"""From a directory of runs to a grid: its cells by arm, and what they may be compared with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from analysis.records.data_groups import families
from analysis.records.impossible import refuse_impossible
from analysis.records.quantities import CHANCE, IMBALANCED, chance_quantity, yardsticks
from analysis.records.run_records import Arm, Cell, Series
from experiments.records import durable, metrics_file, run_directory


@dataclass(frozen=True)
class Grid:
    """Every planned cell of a directory, by arm in the order planned."""

    directory: Path
    title: str
    baseline_name: str | None
    arms: tuple[Arm, ...]
    source: str = ""
    """The data, when this is one family of a grid on several."""
    whole: Grid | None = None
    """That grid."""

    @cached_property
    def families(self) -> list[Grid]:
        """This grid, or where its arms read different data a grid for each; see `families`."""
        found = families(self.arms)
        if self.whole is not None or len(found) < 2:
            return [self]
        named = self.baseline_name
        return [
            Grid(self.directory, self.title, f.named.get(named, named) if named else None, f.arms, f.source, self)
            for f in found
        ]

    @property
    def prefix(self) -> str:
        """What stands before a sentence that is about one family."""
        return f"{self.source}: " if self.source else ""

    @property
    def cells(self) -> list[Cell]:
        return [cell for arm in self.arms for cell in arm.cells]

    @property
    def recorded(self) -> list[Cell]:
        """The cells that have at least one row."""
        return [cell for cell in self.cells if cell.series]

    @cached_property
    def quantities(self) -> list[str]:
        return sorted({quantity for cell in self.cells for quantity in cell.series})

    @property
    def yardsticks(self) -> list[str]:
        return yardsticks(self.quantities)

    @property
    def main_yardsticks(self) -> list[str]:
        """One a task: a probe's accuracy, or its macro F1 when the majority class is IMBALANCED or more."""
        found = self.yardsticks
        keep = []
        for quantity in found:
            task, _, kind = quantity.rpartition("/")
            majority = self.constant(f"{task}/majority_accuracy")
            imbalanced = majority is not None and majority >= IMBALANCED and f"{task}/macro_f1" in found
            wanted = "macro_f1" if imbalanced else "accuracy"
            if kind == wanted or f"{task}/{wanted}" not in found:
                keep.append(quantity)
        return keep

    def constant(self, quantity: str) -> float | None:
        """Mean over runs of the last value of what should not change, such as a majority accuracy."""
        found = [c.series[quantity].values for c in self.cells if quantity in c.series]
        values = [recorded[-1] for recorded in found if recorded.size]
        if len(set(values)) == 1:
            return float(values[0])
        return float(np.mean(values)) if values else None

    def chance(self, quantity: str) -> float | None:
        """The score of a model that knows nothing, where one is known."""
        if quantity == "word_swap/accuracy":
            return CHANCE
        source = chance_quantity(quantity)
        return self.constant(source) if source else None

    def baseline(self) -> Arm | None:
        """The 15 %, 80/10/10 arm; else the arm that the grid names."""
        named = next((arm for arm in self.arms if arm.name == self.baseline_name), None)
        return next((arm for arm in self.arms if arm.is_baseline), named)

    def reference(self, arm: Arm) -> Arm | None:
        """What an arm is compared with: of the CLM arms the one sharing most factors, else the baseline."""
        if arm.objective == "CLM":
            return None
        causal = [other for other in self.arms if other.objective == "CLM"]
        if causal:
            factors = arm.cells[0].factors.items()
            return max(causal, key=lambda other: len(factors & other.cells[0].factors.items()))
        baseline = self.baseline()
        return baseline if baseline is not arm else None


def load(directory: Path) -> Grid:
    """Read a grid, or a single run. Raises ValueError when the directory is neither, or is ambiguous, or holds a loss
    below the best possible one.
    """
    directory = Path(directory)
    try:
        records = run_directory.read_runs(directory)
    except (KeyError, TypeError) as error:
        raise ValueError(
            f"{directory / run_directory.PLAN} lacks {error}; it was not written by this program"
        ) from error
    if not records and not (directory / run_directory.PLAN).exists():
        raise ValueError(f"{directory} holds no run: no plan.json, and no run.json below it")
    cells = [_cell(directory, record) for record in records]
    taken: dict[tuple[str, int], Cell] = {}
    for cell in cells:
        twin = taken.setdefault((cell.arm, cell.seed), cell)
        if twin is not cell:
            raise ValueError(
                f"arm {cell.arm} has seed {cell.seed} twice, in {twin.directory} and {cell.directory}; "
                "report one grid at a time"
            )
    refuse_impossible(cells)
    names = dict.fromkeys(cell.arm for cell in cells)
    arms = tuple(Arm(name, tuple(c for c in cells if c.arm == name)) for name in names)
    plan = _plan(directory)
    baseline = plan.get("baseline")
    title = str(plan.get("title") or next((c.title for c in cells if c.title), directory.resolve().name))
    return Grid(directory, title, baseline if isinstance(baseline, str) else None, arms)


def _plan(directory: Path) -> dict[str, Any]:
    path = directory / "grid.yaml"
    if not path.exists():
        return {}
    try:
        plan = yaml.safe_load(path.read_text(encoding="utf-8"))
    except yaml.YAMLError as error:
        raise ValueError(f"{path} is not valid YAML ({' '.join(str(error).split())})") from error
    return plan if isinstance(plan, dict) else {}


def _cell(grid: Path, record: dict[str, Any]) -> Cell:
    try:
        run = grid / record["directory"]
        name, arm, seed, objective = record["name"], record["arm"], int(record["seed"]), record["objective"]
    except (KeyError, TypeError) as error:
        raise ValueError(f"a cell of {grid} lacks {error}; it was not written by this program") from error
    rows = metrics_file.read_metrics(run)
    by_quantity: dict[str, list[metrics_file.Row]] = {}
    for row in rows:
        by_quantity.setdefault(row.quantity, []).append(row)
    mix: Sequence[float] | None = record.get("corruption_mix")
    pairing = run / run_directory.PAIRING
    return Cell(
        name=str(name),
        arm=str(arm),
        seed=seed,
        objective=str(objective),
        factors={str(k): str(v) for k, v in (record.get("factors") or {}).items()},
        mask_rate=record.get("mask_rate"),
        mix=tuple(mix) if mix is not None else None,
        budget_tokens=int(record.get("budget_tokens") or 0),
        nominal_density=record.get("nominal_density"),
        title=str(record.get("title") or ""),
        corpus=str(record["corpus"]) if record.get("corpus") else None,
        directory=run,
        state=run_directory.run_state(run),
        series={quantity: Series.from_rows(found) for quantity, found in by_quantity.items()},
        pairing=durable.read_json(pairing) if pairing.exists() else None,
        last=rows[-1] if rows else None,
    )
