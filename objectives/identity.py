"""What an object built from settings is, as plain values: its class path, its arguments, the hash of its weights."""

from __future__ import annotations

import hashlib
import importlib
import inspect
from dataclasses import asdict, is_dataclass
from typing import Any, get_type_hints

import torch
from torch import nn


def describe_objective(objective: Any) -> dict[str, Any]:
    """The class path and the constructor's arguments of an objective, as plain values."""
    return {"class_path": class_path(type(objective)), "arguments": arguments(objective)}


def arguments(objective: Any) -> dict[str, Any]:
    """The constructor's arguments as plain values; each is kept under its own name, the encoder's in its config."""
    kept = {name: getattr(objective, name) for name in inspect.signature(type(objective)).parameters}
    kept["encoder"] = objective.encoder.config
    return {
        name: asdict(value) if is_dataclass(value) and not isinstance(value, type) else value
        for name, value in kept.items()
    }


def refuse_other_settings(objective: Any, checkpoint: dict[str, Any]) -> None:
    """Raises ValueError when a checkpoint is that of an objective with other settings: equal shapes load silently."""
    ours, theirs = describe_objective(objective), checkpoint.get("objective")
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


def state_hash(module: nn.Module) -> str:
    """sha256 over the names and bytes of a module's state."""
    digest = hashlib.sha256()
    for name, value in sorted(module.state_dict().items()):
        digest.update(f"{name} {value.dtype} {tuple(value.shape)}".encode())
        digest.update(value.detach().cpu().contiguous().view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()
