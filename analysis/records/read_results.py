"""From a directory to the results of a grid or of a single run."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from analysis.records.impossible import refuse_impossible
from analysis.records.results import Results
from analysis.records.run_records import Arm, RunRecords, Series, Traits
from experiments.records import durable, metrics_file, run_directory
from experiments.records.proof import is_proven, read_done, unproven
from experiments.records.quantities import QUANTITIES, TRAINING, Declarations, Quantity, read_declarations

ALIKE = ("unit", "better", "comparable", "scale")
"""What all runs have to declare alike of a quantity."""


def read_results(directory: Path) -> Results:
    """Read a grid, or a single run.

    A run whose records are damaged has none, and says why.

    Raises ValueError when the directory is neither, holds one arm and seed twice, holds a quantity that two runs
    declare differently, or one that is better than what no model can pass.
    """
    directory = Path(directory)
    records = run_directory.read_runs(directory)
    if not records and not (directory / run_directory.PLAN).exists():
        raise ValueError(f"{directory} holds no run: no {run_directory.PLAN}, and no {run_directory.RUN} below it")
    runs, left_out = [], []
    for record in records:
        try:
            runs.append(_read_run(directory, record))
        except ValueError as error:  # so damaged that it is not known whose seed of which arm it is
            left_out.append(f"{record['directory']} is left out: {error}")
    if left_out and not runs:
        raise ValueError("; ".join(left_out))
    _refuse_duplicates(runs)
    _refuse_other_declarations(runs)
    refuse_impossible(runs)
    names = dict.fromkeys(run.arm for run in runs)
    arms = tuple(Arm(name, tuple(run for run in runs if run.arm == name)) for name in names)
    grid = _read_grid(directory / run_directory.GRID)
    reference = grid.get("reference") or None
    title = str(grid.get("title") or next((run.title for run in runs if run.title), directory.resolve().name))
    return Results(directory, title, None if reference is None else str(reference), arms, left_out=tuple(left_out))


def _read_run(directory: Path, record: dict[str, Any]) -> RunRecords:
    """Raises ValueError when not even the run's arm and seed are known."""
    try:
        run = directory / record["directory"]
        name, arm, seed = str(record["name"]), str(record["arm"]), int(record["seed"])
        objective, attention = str(record["objective"]), str(record["attention"])
        traits, factors = dict(record.get("traits") or {}), dict(record.get("factors") or {})
        numeric, categorical = dict(traits.get("numeric") or {}), dict(traits.get("categorical") or {})
        budget, density = int(record.get("budget_tokens") or 0), record.get("nominal_density")
    except (KeyError, TypeError, ValueError) as error:
        damage = record.get("damage") or f"its records lack {error}; they were not written by this program"
        raise ValueError(damage) from error
    state = run_directory.run_state(run)
    try:
        if "damage" in record:
            raise ValueError(record["damage"])
        found = _read_series(run, state)
    except (ValueError, OSError) as error:
        state, found = state._replace(state="damaged", error=str(error)), _Found()
    return RunRecords(
        name=name,
        arm=arm,
        seed=seed,
        objective=objective,
        attention=attention,
        factors={str(k): str(v) for k, v in factors.items()},
        traits=Traits(str(traits.get("question") or ""), numeric, categorical),
        budget_tokens=budget,
        nominal_density=density,
        title=str(record.get("title") or ""),
        corpus=str(record["corpus"]) if record.get("corpus") else None,
        directory=run,
        state=state,
        **found._asdict(),
    )


class _Found(NamedTuple):
    """What a run has recorded, in the fields of RunRecords."""

    series: dict[str, Series] = {}  # noqa: RUF012 - a default that nobody changes
    declared: Declarations = Declarations()
    pairing: dict[str, Any] | None = None
    stream: dict[int, str] = {}  # noqa: RUF012
    last_row: metrics_file.Row | None = None
    end_tokens: int = 0


def _read_series(run: Path, state: run_directory.RunState) -> _Found:
    """Raises ValueError when something of it is damaged."""
    if state.state == "damaged":
        raise ValueError(state.error)
    rows = metrics_file.read_metrics(run)
    declared = read_declarations(run)  # after the rows: a run in progress appends these first
    done = state.state == "done"
    if not done:  # killed before it declared what it had just recorded; that is repaired on resuming
        rows = [row for row in rows if row.quantity in declared.quantities]
        rows = [row for row in rows if row.quantity in TRAINING or is_proven(row, declared)]
    elif altered := unproven(rows, declared):
        raise ValueError(
            f"{run / metrics_file.METRICS} does not hold what {' and '.join(altered)} measured; "
            f"`clm-vs-mlm evaluate {run}` measures it again"
        )
    elif undeclared := sorted({row.quantity for row in rows} - declared.quantities.keys()):
        raise ValueError(
            f"it recorded {', '.join(undeclared)} without declaring it in {run / QUANTITIES}; `clm-vs-mlm evaluate "
            f"{run}` measures it again"
        )
    by_quantity: dict[str, list[metrics_file.Row]] = {}
    for row in rows:
        by_quantity.setdefault(row.quantity, []).append(row)
    pairing = run / run_directory.PAIRING
    return _Found(
        series={quantity: Series.from_rows(found) for quantity, found in by_quantity.items()},
        declared=declared,
        pairing=durable.read_mapping(pairing) if pairing.exists() else None,
        stream={one.step: one.hash for one in metrics_file.read_stream(run)},
        last_row=rows[-1] if rows else None,
        end_tokens=read_done(run).tokens if done else 0,
    )


def _refuse_duplicates(runs: Iterable[RunRecords]) -> None:
    found: dict[tuple[str, int], RunRecords] = {}
    for run in runs:
        first = found.setdefault((run.arm, run.seed), run)
        if first is not run:
            raise ValueError(
                f"arm {run.arm} has seed {run.seed} twice, in {first.directory} and {run.directory}; "
                "report one grid at a time, or one run by its directory; fit gives runs other names with --name"
            )


def _refuse_other_declarations(runs: Iterable[RunRecords]) -> None:
    first: dict[str, tuple[RunRecords, Quantity]] = {}
    for run in runs:
        for name, quantity in run.declared.quantities.items():
            other, known = first.setdefault(name, (run, quantity))
            for what in ALIKE:
                if (one := getattr(known, what)) != (two := getattr(quantity, what)):
                    raise ValueError(
                        f"{other.name} and {run.name} declare {what} of {name} differently, {one!r} and {two!r}; "
                        "give one of the two another name"
                    )


def _read_grid(path: Path) -> dict[str, Any]:
    """The grid as it is written; nothing, and a line on stderr, where that cannot be read: the runs are what counts."""
    try:
        # All as it is written: to YAML's own reading 2024-01-01 is a date, 0.10 is 0.1 and on is True.
        grid = yaml.load(path.read_text(encoding="utf-8"), Loader=yaml.BaseLoader) if path.exists() else {}
    except (yaml.YAMLError, ValueError, OSError) as error:
        reason = " ".join(str(error).split())
        print(f"{path} cannot be read ({reason}); the report is without its title and reference", file=sys.stderr)
        return {}
    return grid if isinstance(grid, dict) else {}
