"""A checkpoint becomes an objective again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

from objectives.base import Objective
from objectives.construction.class_paths import NotAllowed, import_object
from objectives.construction.identity import build_arguments


def load_objective(path: str | Path) -> Objective:
    """The objective saved in a checkpoint or snapshot, with its weights, in eval mode on the CPU.

    A class of another package than ours is imported only after `objectives.allow_imports`.

    Raises:
        ValueError: when the file is not a checkpoint of an objective, cannot be read, or names a class that cannot be
            imported or is not allowed to be.
    """
    if Path(path).is_dir():
        raise ValueError(f"{path} is a directory; name a file, such as one of a run's snapshots/")

    try:
        checkpoint = torch.load(path, map_location="cpu", weights_only=True)
        objective = build_objective(checkpoint["objective"])
        objective.load_state_dict(checkpoint["state_dict"])
    except FileNotFoundError:
        raise ValueError(f"no checkpoint at {path}") from None
    except NotAllowed as error:
        raise ValueError(f"{path} is not opened: {error}") from error
    except ImportError as error:
        raise ValueError(
            f"cannot import {error.name}, which the checkpoint {path} names ({error}): put the package that it was "
            f"trained with on PYTHONPATH"
        ) from error
    except Exception as error:
        raise ValueError(f"{path} is not a checkpoint of an objective, or is damaged ({error})") from error
    return objective.eval()


def build_objective(described: dict[str, Any]) -> Objective:
    """The objective of a description, as `describe_objective` gives it."""
    cls = import_object(described["class_path"])
    if not (isinstance(cls, type) and issubclass(cls, Objective)):  # a file must not choose what is called
        raise ValueError(f"{described['class_path']} is not an objective")
    return cls(**build_arguments(cls, described["arguments"]))
