"""Runs as jobs of a SLURM cluster, through submitit; without one, as local jobs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from experiments.strict_yaml import parse_yaml


class ClusterExecutor:
    """What `run_all` needs of a concurrent.futures.Executor, on submitit's.

    Args:
        folder: directory for submitit's own files, on a file system that all nodes share.
        parameters: for submitit.AutoExecutor.update_parameters, such as timeout_min, cpus_per_task, slurm_partition.

    Raises:
        ValueError: when submitit is not installed, or does not know a parameter.
    """

    def __init__(self, folder: Path, parameters: dict[str, Any]) -> None:
        try:
            import submitit
        except ImportError:
            raise ValueError('submitit is not installed: pip install -e ".[slurm]"') from None
        self.executor = submitit.AutoExecutor(folder=folder)
        try:
            self.executor.update_parameters(**parameters)
        except (NameError, TypeError, AttributeError) as error:
            raise ValueError(f"submitit does not take these parameters: {' '.join(str(error).split())}") from error

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """A submitit job; it has `done`, `result` and `cancel`."""
        return self.executor.submit(function, *arguments)

    def shutdown(self, wait: bool = True, cancel_futures: bool = False) -> None:
        """Nothing: no process waits for the next run."""


def read_parameters(pairs: Sequence[str]) -> dict[str, Any]:
    """KEY=VALUE pairs, the values read as YAML.

    Raises:
        ValueError: when one is no such pair.
    """
    parameters = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not key or not equals:
            raise ValueError(f"--submitit takes KEY=VALUE pairs such as timeout_min=120, but got {pair!r}")
        parameters[key] = parse_yaml(value, f"--submitit {pair}")
    return parameters
