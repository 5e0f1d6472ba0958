"""Works on the runs of a grid on executors: persistent local worker processes, or whatever submits like them.

Each worker is an executor of its own, so one that dies takes no other with it. There is no scheduler and no state here:
what is left to do is read from the run directories.
"""

from __future__ import annotations

import ctypes
import gc
import multiprocessing
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, Executor, ProcessPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from experiments.records import durable, run_directory
from experiments.sweeps.progress import Progress

DONE, FAILED, DIED, INTERRUPTED = "done", "failed", "died", "interrupted"
DIVERGED, BUSY, NOT_STARTED = "diverged", "left to another process", "not started"
THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS")
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

MakeExecutor = Callable[[], Any]
"""Makes something that submits like a concurrent.futures.Executor."""


class Refused(ValueError):
    """Whatever distributes the runs does not take one; says why, in one line."""


class RunTask(NamedTuple):
    """What is to be done for a run: training, and measuring what is missing; or measuring alone."""

    run: Path
    """Its directory."""
    arguments: list[str]
    """Those of its `fit`."""
    imports: list[str]
    """Packages that its class paths may name."""
    train: bool = True
    after: Path | None = None
    """The run that has to be done before, because this one starts from its weights."""


def run_all(tasks: Sequence[RunTask], executors: Sequence[MakeExecutor], progress: Progress) -> dict[Path, str]:
    """Run all tasks; gives the outcome of each run directory.

    A first Ctrl-C, SIGTERM or SIGHUP lets every run in training save at the end of its step.

    Args:
        executors: makes the executor of each place at which one run at a time can be trained. What is needed of an
            executor is `submit`, and of what that returns `done` and `result`.

    Raises:
        Refused: when not even the first run is taken.
    """
    pending = list(tasks)
    outcomes: dict[Path, str] = {}
    slots = [_Slot(make) for make in executors]
    stopping: list[int] = []
    heeded = [number for number in _SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]  # nohup's SIGHUP
    before = {number: signal.signal(number, lambda n, _: stopping.append(n)) for number in heeded}
    try:
        while True:
            try:
                while not stopping and (left_out := _left_out(pending, slots, outcomes)):
                    outcomes |= left_out
                    pending = [task for task in pending if task.run not in left_out]
                for slot in slots:
                    if slot.run is None and not stopping and (task := _next(pending, slots)):
                        slot.start(task)
                        pending.remove(task)
            except Refused as error:
                if not outcomes and all(slot.run is None for slot in slots):
                    raise
                print(f"{error}; {len(pending)} runs are not started, the others go on", file=sys.stderr)
                outcomes |= {task.run: NOT_STARTED for task in pending}
                pending = []
            running = [slot for slot in slots if slot.run is not None]
            if not running:
                return outcomes | {task.run: INTERRUPTED for task in pending}
            time.sleep(0.2)
            for slot in running:
                if stopping:
                    slot.send_stop()
                if slot.job.done():
                    run, outcome = slot.finish(stopping=bool(stopping))
                    outcomes[run] = outcome
                    progress.finished(run, outcome)
            progress.show([slot.run for slot in slots if slot.run is not None], outcomes, len(pending))
    finally:
        for slot in slots:
            slot.close()
        for number, handler in before.items():
            signal.signal(number, handler)


def _next(pending: Sequence[RunTask], slots: Sequence[_Slot]) -> RunTask | None:
    """The first task that does not wait for another one."""
    open_ = {task.run for task in pending} | {slot.run for slot in slots if slot.run}
    return next((task for task in pending if task.after not in open_), None)


def _left_out(pending: Sequence[RunTask], slots: Sequence[_Slot], outcomes: dict[Path, str]) -> dict[Path, str]:
    """The outcome of the tasks that need a run which is not done, and which nobody here will work on; says so."""
    open_ = {task.run for task in pending} | {slot.run for slot in slots if slot.run}
    found = {}
    for task in pending:
        needed = task.after
        if needed is None or needed in open_ or outcomes.get(needed) == DONE or (needed / run_directory.DONE).exists():
            continue
        state = outcomes.get(needed) or run_directory.run_state(needed).state
        found[task.run] = BUSY if state in (BUSY, "running") else NOT_STARTED
        print(f"{task.run.name} is not started: {needed.name}, from which it starts, is {state}", file=sys.stderr)
    return found


def local_worker(threads: int, device: str | None = None) -> Executor:
    """A worker process that lives on from run to run, because importing the libraries takes seconds."""
    return ProcessPoolExecutor(1, multiprocessing.get_context("spawn"), _start_worker, (threads, device))


class _Slot:
    """A place for one run at a time; makes a new executor after a death."""

    def __init__(self, make: MakeExecutor) -> None:
        self.make = make
        self.executor: Any = None
        self.run: Path | None = None
        self.job: Any = None
        self.stop_sent = False

    def start(self, task: RunTask) -> None:
        self.executor = self.executor or self.make()
        try:
            self.job = self.executor.submit(work_on, task)
        except BrokenExecutor:  # killed while it had nothing to do
            self.close()
            self.executor = self.make()
            self.job = self.executor.submit(work_on, task)
        self.run = task.run

    def send_stop(self) -> None:
        """Once: a second signal would reach a worker that has stopped listening."""
        if not self.stop_sent:
            self.stop_sent = True
            for pid in list(getattr(self.executor, "_processes", None) or {}):
                os.kill(pid, signal.SIGTERM)
            self.job.cancel()  # reaches a job of a cluster, or one that has not begun

    def finish(self, stopping: bool) -> tuple[Path, str]:
        assert self.run is not None
        job, run = self.job, self.run
        self.job = self.run = None
        try:
            return run, job.result()
        except (Exception, KeyboardInterrupt) as error:  # a lost process, or one that could not even write its log
            print(f"{run.name}: {type(error).__name__} {error}", file=sys.stderr)
            self.close()
            return run, INTERRUPTED if stopping else DIED

    def close(self) -> None:
        if self.executor is not None:
            self.executor.shutdown(wait=True, cancel_futures=True)
            self.executor = None


def _start_worker(threads: int, device: str | None) -> None:
    """In a new worker process, before the numerical libraries load, which read these variables."""
    os.environ.update({name: str(threads) for name in THREAD_VARIABLES}, OMP_WAIT_POLICY="PASSIVE")
    if device is not None:
        os.environ["CUDA_VISIBLE_DEVICES"] = device
    threading.Thread(target=_leave_with_parent, daemon=True).start()
    import torch  # after the environment is set

    torch.set_num_threads(threads)


def _leave_with_parent() -> None:
    """When the launching process is gone, stop: at once without a run, else when it has saved. No orphan trains on."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    while True:  # the first one stops the run, a later one the worker
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(1)


def work_on(task: RunTask) -> str:
    """Train and measure one run in this process, all it prints going to its log; gives its outcome."""
    with open(task.run / run_directory.LOG, "a", encoding="utf-8") as log, _output_to(log.fileno()):
        from experiments.training.command_line import ObjectiveCLI, PlannedCLI, quiet_lightning
        from experiments.training.loop import Busy, Interrupted, TrainingDiverged
        from experiments.training.measure import measure_run

        quiet_lightning()
        try:
            make = ObjectiveCLI if task.train else PlannedCLI
            measure_run(task.run, make(["fit", *task.arguments], task.imports))
        except (Interrupted, KeyboardInterrupt):
            return INTERRUPTED
        except TrainingDiverged:  # and has said so in its status
            return DIVERGED
        except Busy:  # another sweep's; its status is not ours to write
            return BUSY
        except BaseException as error:
            traceback.print_exc()
            _write_failure(task.run, error)
            return FAILED
        finally:
            _let_go()
        return DONE


def _let_go() -> None:
    """Give back what the run held: glibc keeps freed memory in pieces, and those of each run would add up."""
    gc.collect()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # other C libraries have none
    if trim is not None:
        trim(0)


def _write_failure(run: Path, error: BaseException) -> None:
    """Say in the run's status what went wrong; a run that is done stays done, and one that only the file system stopped
    can be resumed."""
    failure = {"error": " ".join(str(error).split()), "log": str(run / run_directory.LOG)}
    state = {} if (run / run_directory.DONE).exists() or isinstance(error, OSError) else {"state": "failed"}
    durable.write_json(run / run_directory.STATUS, {**run_directory.read_status(run), **failure, **state})


@contextmanager
def _output_to(descriptor: int) -> Iterator[None]:
    """Send file descriptors 1 and 2, those of libraries and child processes too, to an open file."""
    before = [os.dup(1), os.dup(2)]
    for standard in (1, 2):
        os.dup2(descriptor, standard)
    try:
        yield
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        for standard, saved in zip((1, 2), before, strict=True):
            os.dup2(saved, standard)
            os.close(saved)
