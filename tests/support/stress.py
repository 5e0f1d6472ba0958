"""Kills and errors of the file system, at every kind of file event, in fit, sweep, evaluate and report.

    python -m tests.support.stress --kills 200 --errors 100

In each trial a command is killed, or fails with ENOSPC or EIO, at one event: a file opened for writing, a sync (also
with the end of the file cut off, as a torn write leaves it), a rename, a removal, a new directory, a saved checkpoint.
Then the same command is given once more. It has to end well, and all that was recorded, trained, measured and reported
has to be what an undisturbed command leaves. An error also has to be one line, without a traceback.

Children are forked from one process that has imported everything and computed nothing.
"""

from __future__ import annotations

import argparse
import builtins
import errno
import io
import multiprocessing
import os
import random
import shutil
import signal
import sys
import tempfile
import traceback
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import torch
import yaml

import analysis.report  # noqa: F401 - as the next one
import experiments.sweeps.sweep
import experiments.training.measure
from experiments.cli import main as command
from experiments.records import metrics_file, quantities
from experiments.records.checkpoints import complete
from experiments.records.proof import damage
from experiments.sweeps.workers import _start_worker
from tests.support.tiny import fit_arguments, outcome, run_config, write_text

KILL, TORN, FULL, BROKEN = "killed", "killed in a write", "disk full", "input/output error"
KILLS, ERRORS = (KILL, TORN), (FULL, BROKEN)
COMMANDS = ("fit", "sweep", "evaluate", "report")
TORN_BYTES = 7
STEPS = 12


class Events:
    """Counts the file events below a directory in this process and its forked children, each by itself; at number
    `at` something happens."""

    def __init__(self, below: Path, at: int, what: str, log: Path) -> None:
        self.below, self.at, self.what, self.log = str(below), at, what, log
        self.count = 0

    def watch(self) -> None:
        """Put a counting function in the place of those that change files."""
        for name in ("replace", "rename", "unlink", "remove", "mkdir", "rmdir"):
            setattr(os, name, self.counting(name, getattr(os, name)))
        os.fsync = self.counting("fsync", os.fsync)
        torch.save = self.counting("torch.save", torch.save, place=1)
        opened = io.open

        def watched_open(file: Any, mode: str = "r", *rest: Any, **options: Any) -> Any:
            if set(mode) & set("wax+") and not isinstance(file, int):
                self.event(f"open {mode}", file)
            return opened(file, mode, *rest, **options)

        builtins.open = io.open = watched_open  # type: ignore[assignment]

    def counting(self, name: str, function: Callable[..., Any], place: int = 0) -> Callable[..., Any]:
        def counted(*arguments: Any, **options: Any) -> Any:
            self.event(name, arguments[place])
            return function(*arguments, **options)

        return counted

    def event(self, name: str, where: Any) -> None:
        try:
            path = (
                os.readlink(f"/proc/self/fd/{where}") if isinstance(where, int) else os.path.abspath(os.fspath(where))
            )
        except (OSError, TypeError):
            return
        if not path.startswith(self.below):
            return
        self.count += 1
        if self.count != self.at:
            return
        with os.fdopen(os.open(self.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND), "w") as log:
            log.write(f"{name} {path}\n")
        if self.what in (TORN, FULL) and name == "fsync" and os.path.isfile(path):
            os.truncate(path, max(0, os.path.getsize(path) - TORN_BYTES))
        if self.what in KILLS:
            os.kill(os.getpid(), signal.SIGKILL)
        number = errno.ENOSPC if self.what == FULL else errno.EIO
        raise OSError(number, os.strerror(number))


def forked_worker(threads: int, device: str | None) -> ProcessPoolExecutor:
    """In the place of a sweep's own: a worker that counts events too, and needs no seconds to import anything."""
    return ProcessPoolExecutor(1, multiprocessing.get_context("fork"), _start_worker, (threads, device))


def in_child(arguments: Sequence[str], output: Path, events: Events | None = None) -> int:
    """The exit code of a command in a forked process; minus the signal that killed it."""
    pid = os.fork()
    if pid == 0:
        code = 99
        try:
            os.setsid()
            descriptor = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            os.dup2(descriptor, 1)
            os.dup2(descriptor, 2)
            torch.set_num_threads(1)
            experiments.sweeps.sweep.local_worker = forked_worker  # type: ignore[assignment]
            if events is not None:
                events.watch()
            code = command(arguments)
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
    _, status = os.waitpid(pid, 0)
    return os.waitstatus_to_exitcode(status)


class Stress:
    """The commands on one tiny corpus, what each leaves undisturbed, and trials."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.text = write_text(directory / "text.txt", lines=150)
        self.config = self._config("MLM")
        arms = {name: {"model.class_path": f"objectives.{name}"} for name in ("CLM", "MLM")}
        content = {"base": self.config, "axes": {"arm": arms}, "seeds": [1]}
        del content["base"]["seed_everything"], content["base"]["threads"]
        (directory / "grid.yaml").write_text(yaml.safe_dump(content))
        self.begun = {name: directory / f"begun-{name}" for name in COMMANDS}
        self.whole: dict[str, Any] = {}
        self.events: dict[str, int] = {}
        self.failures: list[str] = []
        self.seen: Counter[str] = Counter()

    def _config(self, objective: str) -> dict[str, Any]:
        config = run_config(self.text, objective, **{"model.init_args.budget.tokens": STEPS * 64})
        config |= {"record_every_steps": 2, "checkpoint_every_steps": 3}
        metrics = [{"class_path": f"experiments.evaluation.{name}"} for name in ("ValidationLoss", "WordSwap")]
        return config | {"evaluation": {"snapshots": 2, "metrics": metrics}}

    def arguments(self, name: str, place: Path) -> list[str]:
        if name == "fit":
            return fit_arguments({**self.config, "seed_everything": 1, "threads": 1}, place)
        if name == "sweep":
            return ["sweep", str(self.directory / "grid.yaml"), "--results", str(place), "--workers", "2"]
        if name == "evaluate":
            return ["evaluate", str(next((place / "runs").iterdir())), "--config", str(self.directory / "more.yaml")]
        return ["report", str(place / "grid")]

    def prepare(self) -> None:
        """Where each command starts from, what it leaves undisturbed, and how many events it has."""
        more = [*self.config["evaluation"]["metrics"], {"class_path": "experiments.evaluation.Cloze"}]
        (self.directory / "more.yaml").write_text(yaml.safe_dump({"evaluation": {"metrics": more}}))
        for name in COMMANDS:
            source = {"evaluate": "fit", "report": "sweep"}.get(name)
            if source is None:
                self.begun[name].mkdir()
            else:
                shutil.copytree(self.directory / f"whole-{source}", self.begun[name])
                shutil.rmtree(self.begun[name] / "grid" / "report", ignore_errors=True)
            place = self.directory / f"whole-{name}"
            shutil.copytree(self.begun[name], place)
            counter = Events(place, -1, KILL, self.directory / "log")
            code = in_child(self.arguments(name, place), self.directory / "output", _Announced(counter))
            assert code == 0, (self.directory / "output").read_text()
            self.events[name] = int((self.directory / "log").read_text().split()[-1])
            (self.directory / "log").unlink()
            self.whole[name] = self.left(name, place)

    def left(self, name: str, place: Path) -> Any:
        """All that a command leaves, as far as it does not tell the time."""
        if name == "report":
            report = place / "grid" / "report"
            names = {path.name for path in report.parent.iterdir() if "report" in path.name}
            return names, {path.relative_to(report): path.read_bytes() for path in report.rglob("*.*")}
        runs = sorted(place.glob("**/run.json"))
        found = []
        for run in (path.parent for path in runs):
            rows, weights = outcome(run)
            declared = quantities.read_declarations(run)
            hidden = sorted(path.name for path in run.rglob(".*"))
            checkpoints = [path.name for path in complete(run / "checkpoints")]
            found.append((run.name, damage(run), sorted(map(repr, rows)), weights, declared, hidden, checkpoints))
        assert all(metrics_file.read_metrics(path.parent) for path in runs)
        return found

    def trial(self, name: str, what: str, at: int) -> None:
        place = self.directory / "trial"
        shutil.rmtree(place, ignore_errors=True)
        shutil.copytree(self.begun[name], place)
        log, output = self.directory / "log", self.directory / "output"
        log.unlink(missing_ok=True)
        code = in_child(self.arguments(name, place), output, Events(place, at, what, log))
        said = output.read_text()
        where = log.read_text().strip().replace(str(place), "") if log.exists() else "nowhere"
        self.seen[where.split(" ")[0]] += 1
        label = f"{name}, {what} at event {at} ({where})"
        if what in ERRORS and where != "nowhere" and code != 0 and (code not in (1, 2) or "Traceback" in said):
            self.failures.append(f"{label}: exit code {code}: {said[-2000:]}")
        code = in_child(self.arguments(name, place), output)
        if code != 0:
            self.failures.append(f"{label}: the same command again gives {code}: {output.read_text()[-2000:]}")
        elif self.left(name, place) != self.whole[name]:
            self.failures.append(f"{label}: it leaves something else than an undisturbed one")


class _Announced(Events):
    """Counts, and says at each event how many there were."""

    def __init__(self, events: Events) -> None:
        super().__init__(Path(events.below), events.at, events.what, events.log)

    def event(self, name: str, where: Any) -> None:
        before = self.count
        super().event(name, where)
        if self.count > before:
            descriptor = os.open(self.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
            os.write(descriptor, f"{self.count}\n".encode())
            os.close(descriptor)


def stress(kills: int, errors: int, seed: int = 0, commands: Sequence[str] = COMMANDS) -> Stress:
    """That many trials of both kinds, spread over commands and events at random; what failed is in `failures`."""
    draw = random.Random(seed)
    with tempfile.TemporaryDirectory() as directory:
        found = Stress(Path(directory))
        found.prepare()
        trials = [(kind, number) for kind, count in ((KILLS, kills), (ERRORS, errors)) for number in range(count)]
        for number, (kinds, place) in enumerate(trials, start=1):
            name, known = commands[place % len(commands)], len(found.failures)
            found.trial(name, draw.choice(kinds), draw.randint(1, found.events[name]))
            for failure in found.failures[known:]:
                print(failure, file=sys.stderr)
            if sys.stderr.isatty() or number % 20 == 0:
                print(f"{number} of {len(trials)} trials, {len(found.failures)} failed", file=sys.stderr)
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser("python -m tests.support.stress", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--errors", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--commands", nargs="+", choices=COMMANDS, default=COMMANDS)
    options = parser.parse_args(arguments)
    found = stress(options.kills, options.errors, options.seed, options.commands)
    print(f"events: {found.events}; hit: {dict(found.seen)}")
    print(f"{options.kills} kills and {options.errors} errors: {len(found.failures)} failed")
    return 1 if found.failures else 0


if __name__ == "__main__":
    sys.exit(main())
