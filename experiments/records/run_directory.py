"""What a run and a grid look like on disk. Standard library and filelock only, so that a report opens in seconds.

README.md draws the directory of a run. There is no other state: no database, no timestamps in names.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any, NamedTuple

from filelock import FileLock, Timeout

from experiments.records.durable import read_json, read_mapping
from experiments.records.metrics_file import METRICS
from experiments.records.proof import DONE, damage

RUN, PAIRING, ENVIRONMENT, STATUS = "run.json", "pairing.json", "environment.json", "status.json"
PLAN, GRID = "plan.json", "grid.yaml"
CONFIG, LOG, LOCK = "config.yaml", "log.txt", "run.lock"
RUNS = "runs"
"""Directory of the runs of a grid."""


class RunState(NamedTuple):
    """state is one of pending, running, done, failed, diverged, damaged, resumable; tokens are those of the last status
    written."""

    state: str
    tokens: int = 0
    budget_tokens: int = 0
    tokens_per_second: float = 0.0
    error: str = ""
    log: str = ""


def run_state(run: Path) -> RunState:
    """The state of a run, as far as its directory tells: one that holds no lock and is not done can be resumed."""
    run = Path(run)
    status = read_status(run)
    known = {key: status[key] for key in RunState._fields[1:] if key in status}
    if (run / DONE).exists():
        problem = damage(run)
        return RunState("damaged", **{**known, "error": problem}) if problem else RunState("done", **known)
    if is_locked(run):
        return RunState("running", **known)
    if (ended := status.get("state")) in ("failed", "diverged"):
        return RunState(ended, **known)
    return RunState("resumable" if status else "pending", **known)


def read_status(run: Path) -> dict[str, Any]:
    """What a run last said of itself; nothing before it begins, or from a damaged file: the run may be whole."""
    try:
        status = json.loads((run / STATUS).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    kinds: dict[str, Any] = {
        "tokens": int,
        "budget_tokens": int,
        "tokens_per_second": (int, float),
        "error": str,
        "log": str,
    }
    if not isinstance(status, dict):
        return {}
    return {key: value for key, value in status.items() if isinstance(value, kinds.get(key, object))}


def is_locked(run: Path) -> bool:
    """True while some process works on this run; the lock goes with the process, however it ends."""
    if not (run / LOCK).exists():
        return False
    lock = FileLock(run / LOCK)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        return True
    except PermissionError:  # a directory one may only read: nobody works there on our behalf
        return False
    lock.release()
    return False


def find_run(name: str | Path) -> Path | None:
    """The directory of a run, named by its path or without the hash at its end.

    results/quickstart/CLM-s1 may stand for results/quickstart/CLM-s1-<hash>, or for a run of that name in
    results/quickstart/runs/. None when there is no such run.

    Raises:
        ValueError: when several runs have that name.
    """
    path = Path(name)
    if (path / RUN).exists():
        return path
    with_hash = re.compile(re.escape(path.name) + "-[0-9a-f]{8}")
    for folder in (path.parent / RUNS, path.parent):
        entries = sorted(folder.iterdir()) if path.name and folder.is_dir() else []
        found = [entry for entry in entries if with_hash.fullmatch(entry.name) and (entry / RUN).exists()]
        if len(found) > 1:
            raise ValueError(f"{path} may be any of {', '.join(map(str, found))}; name one of them")
        if found:
            return found[0]
    return None


def grid_or_run(name: str | Path) -> Path:
    """The directory that a command over a grid or a run is given; a run may be named without its hash."""
    return Path(name) if Path(name).is_dir() else find_run(name) or Path(name)


def read_runs(directory: Path) -> list[dict[str, Any]]:
    """The planned runs of a grid, each with "directory" relative to `directory`; or the runs found below it.

    One whose run.json cannot be read has "damage" that says so, and only what its plan knows of it. Where the plan of a
    grid cannot be read, a line on stderr says so, and the runs are those found.

    Raises:
        ValueError: when there is no such directory.
    """
    directory = Path(directory)
    if not directory.is_dir():
        raise ValueError(f"there is no directory {directory}; give the directory of a grid or of a run")
    planned = _planned(directory / PLAN) if (directory / PLAN).exists() else None
    if planned is not None:
        # A run that has begun knows more about itself than its plan, its budget in tokens for one; but not its place.
        return [{**run, **_recorded(directory / run["directory"]), **_its_place(run)} for run in planned]
    found = [directory / RUN] if (directory / RUN).exists() else sorted(directory.glob(f"**/{RUN}"))
    return [{**_recorded(path.parent), "directory": str(path.parent.relative_to(directory))} for path in found]


def record_of(run: Path) -> dict[str, Any]:
    """What a run has written of itself; nothing, and a line on stderr, where that cannot be read: what is known of it
    otherwise is written anew."""
    found = _recorded(run)
    if "damage" in found:
        print(f"{found['damage']}; it is written anew", file=sys.stderr)
        return {}
    return found


def _planned(path: Path) -> list[dict[str, Any]] | None:
    try:
        planned = read_json(path)
        if isinstance(planned, list) and planned and all(map(_has_directory, planned)):
            return planned
        problem = f"{path} is damaged: it is no list of runs, each with its directory in {RUNS}/"
    except ValueError as error:
        problem = str(error)
    print(f"{problem}; or `clm-vs-mlm sweep` writes it again. Shown are the runs found", file=sys.stderr)
    return None


def _has_directory(run: Any) -> bool:
    """Whether an entry of a plan names a directory that a grid gives its runs."""
    parts = Path(run["directory"]).parts if isinstance(run, dict) and isinstance(run.get("directory"), str) else ()
    return len(parts) == 2 and parts[0] == RUNS and parts[1] != ".."


def _its_place(planned: dict[str, Any]) -> dict[str, Any]:
    """What a plan says of a run's place in its grid."""
    return {key: planned[key] for key in ("directory", "name", "arm", "seed", "factors", "title") if key in planned}


def _recorded(run: Path) -> dict[str, Any]:
    """What a run has written of itself; nothing where it has not begun, and "damage" where that is lost."""
    path = run / RUN
    try:
        return read_mapping(path) if path.exists() or (run / DONE).exists() or (run / METRICS).exists() else {}
    except (ValueError, OSError) as error:
        return {"damage": str(error)}
