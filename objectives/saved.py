"""Objectives as files: what is kept in a checkpoint, and how it comes back."""

from __future__ import annotations

import hashlib
import importlib
import inspect
from dataclasses import asdict, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_type_hints

import torch
from torch import nn

if TYPE_CHECKING:
    from objectives.base import Objective


def describe(objective: Objective) -> dict[str, Any]:
    """The class path and the constructor's arguments of an objective, as plain values."""
    return {"class_path": class_path(type(objective)), "arguments": arguments(objective)}


def arguments(objective: Objective) -> dict[str, Any]:
    """The constructor's arguments as plain values; each is kept under its own name, the encoder's in its config."""
    kept = {name: getattr(objective, name) for name in inspect.signature(type(objective)).parameters}
    kept["encoder"] = objective.encoder.config
    return {
        name: asdict(value) if is_dataclass(value) and not isinstance(value, type) else value
        for name, value in kept.items()
    }


def refuse_other(objective: Objective, checkpoint: dict[str, Any]) -> None:
    """Raises ValueError when a checkpoint is that of an objective with other settings: equal shapes load silently."""
    ours, theirs = describe(objective), checkpoint.get("objective")
    if theirs is None:
        raise ValueError("this checkpoint is not one of an objective of clm-vs-mlm")
    if ours["class_path"] != theirs["class_path"]:
        raise ValueError(
            f"the checkpoint is one of {theirs['class_path']}, but the settings are of {ours['class_path']}"
        )
    names = [name for name, value in ours["arguments"].items() if theirs["arguments"].get(name) != value]
    if names:
        raise ValueError(f"the checkpoint was trained with another {', '.join(names)} than the settings say")


def import_object(path: str) -> Any:
    """What a dotted path names."""
    module, _, name = path.rpartition(".")
    return getattr(importlib.import_module(module), name)


def build_arguments(cls: type, plain: dict[str, Any]) -> dict[str, Any]:
    """Constructor arguments from plain values: mappings become the configuration class that the constructor names.

    Raises:
        ValueError: when a configuration refuses its values.
    """
    hints = get_type_hints(cls.__init__)  # type: ignore[misc]
    return {
        name: hints[name](**value) if isinstance(value, dict) and is_dataclass(hints[name]) else value
        for name, value in plain.items()
    }


def class_path(cls: type) -> str:
    """The dotted path that imports a class."""
    return f"{cls.__module__}.{cls.__qualname__}"


def load(path: str | Path) -> Objective:
    """The objective saved in a checkpoint or snapshot, with its weights, in eval mode on the CPU.

    Raises:
        ValueError: when the file is no checkpoint of an objective, or cannot be read.
    """
    from objectives.base import Objective  # which imports this file

    if Path(path).is_dir():
        raise ValueError(f"{path} is a directory; name a file, such as one of a run's snapshots/")

    try:
        checkpoint = torch.load(path, map_location="cpu", weights_only=True)
        cls = import_object(checkpoint["objective"]["class_path"])
        if not (isinstance(cls, type) and issubclass(cls, Objective)):  # a checkpoint must not have anything called
            raise ValueError(f"{checkpoint['objective']['class_path']} is no objective")
        objective: Objective = cls(**build_arguments(cls, checkpoint["objective"]["arguments"]))
        objective.load_state_dict(checkpoint["state_dict"])
    except FileNotFoundError:
        raise ValueError(f"no checkpoint at {path}") from None
    except Exception as error:
        raise ValueError(f"{path} is no checkpoint of an objective, or is damaged ({error})") from error
    return objective.eval()


def state_hash(module: nn.Module) -> str:
    """sha256 over the names and bytes of a module's state."""
    digest = hashlib.sha256()
    for name, value in sorted(module.state_dict().items()):
        digest.update(f"{name} {value.dtype} {tuple(value.shape)}".encode())
        digest.update(value.detach().cpu().contiguous().view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()
