"""Runs as jobs of a SLURM cluster, through submitit; without one, as local jobs."""

from __future__ import annotations

import io
import sys
import tempfile
from collections.abc import Callable, Sequence
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

from experiments.strict_yaml import parse_yaml
from experiments.sweeps.workers import Refused

COUNTS = ("timeout_min", "cpus_per_task", "nodes", "tasks_per_node")


class ClusterExecutor:
    """What `run_all` needs of a concurrent.futures.Executor, on submitit's.

    Args:
        folder: directory for submitit's own files, on a file system that all nodes share.
        parameters: for submitit.AutoExecutor.update_parameters, such as timeout_min, cpus_per_task, slurm_partition.

    Raises:
        ValueError: when submitit is not installed, or does not take a parameter.
    """

    def __init__(self, folder: Path, parameters: dict[str, Any]) -> None:
        try:
            import submitit
        except ImportError:
            raise ValueError('submitit is not installed: pip install -e ".[slurm]"') from None
        try:
            self.executor = submitit.AutoExecutor(folder=folder)
            self.executor.update_parameters(**parameters)
        except (NameError, TypeError, AttributeError, AssertionError, ValueError, RuntimeError) as error:
            raise ValueError(f"submitit does not take these parameters: {' '.join(str(error).split())}") from error
        if few := [
            f"{name}={parameters[name]}" for name in COUNTS if parameters.get(name) is not None and parameters[name] < 1
        ]:
            raise ValueError(f"--submitit takes numbers from 1 on, but got {', '.join(few)}")

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """A submitit job; it has `done`, `result` and `cancel`. Raises Refused when there is none."""
        # submitit repeats on standard error what it raises.
        said = io.StringIO()
        try:
            with redirect_stderr(said), redirect_stdout(said):
                return self.executor.submit(function, *arguments)
        except Exception as error:  # sbatch's answer, or what submitit makes of it
            reason = " ".join((str(error) or type(error).__name__).split())
            raise Refused(f"the job of {arguments[0].run.name} is refused: {reason}") from error

    def shutdown(self, wait: bool = True, cancel_futures: bool = False) -> None:
        """Nothing: no process waits for the next run."""


def check_cluster(folder: Path, parameters: dict[str, Any]) -> None:
    """Raises ValueError when ClusterExecutor would not take these, or jobs could not write there; makes nothing."""
    if "%" in str(folder.absolute()):
        raise ValueError(
            f"SLURM puts numbers in the place of % in the path of a log, so jobs cannot write to {folder}; give the "
            f"grid and --results names without %"
        )
    with tempfile.TemporaryDirectory() as nowhere:
        if ClusterExecutor(Path(nowhere), parameters).executor.cluster == "local":
            print("there is no SLURM here (no sbatch): its jobs run as processes of this machine", file=sys.stderr)


def read_parameters(pairs: Sequence[str]) -> dict[str, Any]:
    """KEY=VALUE pairs, the values read as YAML.

    Raises:
        ValueError: when one is no such pair.
    """
    parameters = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if key in parameters:
            raise ValueError(f"--submitit gives {key} twice; leave one of the two out")
        if not key or not equals:
            raise ValueError(f"--submitit takes KEY=VALUE pairs such as timeout_min=120, but got {pair!r}")
        parameters[key] = parse_yaml(value, f"--submitit {pair}")
    return parameters
