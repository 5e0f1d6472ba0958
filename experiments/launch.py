"""Runs the cells of a grid on persistent local worker processes.

Each worker is an executor of its own, so one that dies takes no other with it. There is no scheduler and no state here:
what is left to do is read from the run directories.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

from experiments import store
from experiments.progress import Progress

DONE, FAILED, DIED, INTERRUPTED = "done", "failed", "died", "interrupted"
THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS")

Task = tuple[Path, list[str], list[str]]
"""A run's directory, the arguments of its `fit`, and the packages that its class paths may name."""


def run_all(
    tasks: Sequence[Task], workers: int, threads: int, progress: Progress, devices: Sequence[str | None] = ()
) -> dict[Path, str]:
    """Run all tasks; gives the outcome (done, failed, died or interrupted) of each run directory.

    A first Ctrl-C or SIGTERM lets every running cell save at the end of its step. With `devices`, worker i sees the
    i-th only.
    """
    # Read by the numerical libraries of each worker as they load.
    os.environ.update({name: str(threads) for name in THREAD_VARIABLES}, OMP_WAIT_POLICY="PASSIVE")
    pending = list(tasks)
    outcomes: dict[Path, str] = {}
    slots = [_Slot(threads, device) for device in (devices or [None] * workers)[:workers]]
    running: dict[Future[str], tuple[_Slot, Path]] = {}
    stopping: list[int] = []
    before = {number: signal.signal(number, lambda n, _: stopping.append(n)) for number in _SIGNALS}
    try:
        while True:
            while pending and len(running) < len(slots) and not stopping:
                busy = [slot for slot, _ in running.values()]
                slot = next(slot for slot in slots if slot not in busy)
                run, *arguments = pending.pop(0)
                running[slot.submit(run, *arguments)] = (slot, run)
            if not running:
                return outcomes | {run: INTERRUPTED for run, *_ in pending}
            finished, _ = wait(running, timeout=1.0, return_when=FIRST_COMPLETED)
            if stopping:
                for slot, _ in running.values():
                    slot.ask_to_stop()
            for future in finished:
                slot, run = running.pop(future)
                outcomes[run] = slot.outcome(future, stopping=bool(stopping))
                progress.finished(run, outcomes[run])
            progress.show([run for _, run in running.values()], outcomes, len(pending))
    finally:
        for slot in slots:
            slot.close()
        for number, handler in before.items():
            signal.signal(number, handler)


_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class _Slot:
    """A place for one worker process; makes a new one after a death."""

    def __init__(self, threads: int, device: str | None) -> None:
        self.threads, self.device = threads, device
        self.executor: ProcessPoolExecutor | None = None
        self.asked = False

    def submit(self, *task: object) -> Future[str]:
        if self.executor is None:
            context = multiprocessing.get_context("spawn")
            self.executor = ProcessPoolExecutor(1, context, _start_worker, (self.threads, self.device))
        return self.executor.submit(run_cell, *task)  # type: ignore[arg-type]

    def ask_to_stop(self) -> None:
        if not self.asked and self.executor is not None:
            self.asked = True
            for pid in list(self.executor._processes or {}):
                os.kill(pid, signal.SIGTERM)

    def outcome(self, future: Future[str], stopping: bool) -> str:
        try:
            return future.result()
        except (BrokenProcessPool, KeyboardInterrupt):
            self.close()
            return INTERRUPTED if stopping else DIED

    def close(self) -> None:
        if self.executor is not None:
            self.executor.shutdown(wait=True, cancel_futures=True)
            self.executor = None


def _start_worker(threads: int, device: str | None) -> None:
    if device is not None:
        os.environ["CUDA_VISIBLE_DEVICES"] = device
    import torch  # after the environment is set, and never in the process that only launches

    torch.set_num_threads(threads)


_working = threading.Lock()
"""Held by a worker process while it works on a cell."""


def run_cell(run: Path, arguments: list[str], imports: list[str]) -> str:
    """Train one run in this process, all it prints going to its log; gives done, failed or interrupted."""
    with _working, open(run / store.LOG, "a", encoding="utf-8") as log, _output_to(log.fileno()):
        from experiments.fitting import Interrupted
        from experiments.training import AlreadyDone, ObjectiveCLI

        _leave_with_parent(lambda: ObjectiveCLI.stop.ask(signal.SIGTERM))
        try:
            ObjectiveCLI(["fit", *arguments], imports)
        except AlreadyDone:
            return DONE
        except (Interrupted, KeyboardInterrupt):
            return INTERRUPTED
        except BaseException as error:
            traceback.print_exc()
            status = store.read_json(run / store.STATUS) if (run / store.STATUS).exists() else {}
            failure = {"state": "failed", "error": " ".join(str(error).split()), "log": str(run / store.LOG)}
            store.write_json(run / store.STATUS, {**status, **failure})
            return FAILED
        return DONE


class _output_to:
    """Send file descriptors 1 and 2, those of libraries and child processes too, to an open file."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor

    def __enter__(self) -> None:
        self.before = [os.dup(1), os.dup(2)]
        for standard in (1, 2):
            os.dup2(self.descriptor, standard)

    def __exit__(self, *_: object) -> None:
        sys.stdout.flush()
        sys.stderr.flush()
        for standard, before in zip((1, 2), self.before, strict=True):
            os.dup2(before, standard)
            os.close(before)


def _leave_with_parent(stop: Callable[[], None]) -> None:
    """When the launching process is gone, let the cell save and stop, and leave: no orphan trains on or lingers."""
    parent = multiprocessing.parent_process()
    if parent is not None and not any(thread.name == "parent-watch" for thread in threading.enumerate()):

        def watch() -> None:
            parent.join()
            stop()
            with _working:
                os._exit(1)

        threading.Thread(target=watch, name="parent-watch", daemon=True).start()
