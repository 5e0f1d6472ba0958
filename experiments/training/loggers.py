"""Lightning's loggers, such as CSVLogger and TensorBoardLogger: they get what a run records, beside its own files."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from jsonargparse import Namespace
from pytorch_lightning.loggers import Logger


def place_loggers(trainer: Namespace, run: Path) -> None:
    """Let the configured loggers write below the run's directory, unless their save_dir is absolute."""
    configured = trainer.logger if isinstance(trainer.logger, list) else [trainer.logger]
    for logger in configured:
        if isinstance(logger, Namespace) and (place := logger.get("init_args.save_dir")) is not None:
            logger.init_args.save_dir = str(run / place)


def check_loggers(loggers: Iterable[Logger], run: Path) -> None:
    """Raises ValueError when a logger would write where the run's own metrics.csv lies."""
    for logger in loggers:
        directory = getattr(logger, "log_dir", None)
        if directory is not None and Path(directory).resolve() == run.resolve():
            raise ValueError(
                f"{type(logger).__name__} would write over the records of {run}; give it another name or version"
            )
