"""What an object built from settings is: class path and arguments as plain values, and the hash of its weights."""

from __future__ import annotations

import hashlib
import importlib
import inspect
from dataclasses import asdict, is_dataclass
from typing import Any, get_type_hints

import torch
from torch import nn


def describe_objective(objective: Any) -> dict[str, Any]:
    """class_path and arguments of an objective as plain values, from which `objectives.checkpoint` builds it again.

    Raises:
        AttributeError: when the objective does not keep an argument of its constructor under the argument's name.
    """
    cls = type(objective)
    kept = {name: getattr(objective, name) for name in inspect.signature(cls).parameters}
    kept["encoder"] = objective.encoder.config  # the name is taken by the encoder itself
    plain = {
        name: asdict(value) if is_dataclass(value) and not isinstance(value, type) else value
        for name, value in kept.items()
    }
    return {"class_path": f"{cls.__module__}.{cls.__qualname__}", "arguments": plain}


def refuse_other_settings(objective: Any, checkpoint: dict[str, Any]) -> None:
    """Make sure that a checkpoint was saved with the settings of `objective`: weights of equal shapes load silently.

    Raises:
        ValueError: when it was not, or is not a checkpoint of an objective.
    """
    ours, theirs = describe_objective(objective), checkpoint.get("objective")
    if theirs is None:
        raise ValueError("this checkpoint is not one of an objective of clm-vs-mlm")
    if ours["class_path"] != theirs["class_path"]:
        raise ValueError(f"the checkpoint is of {theirs['class_path']}, but the settings are of {ours['class_path']}")
    names = [name for name, value in ours["arguments"].items() if theirs["arguments"].get(name) != value]
    if names:
        raise ValueError(f"the checkpoint was trained with other settings of {', '.join(names)}")


def import_object(path: str) -> Any:
    """The object at a dotted path.

    Raises:
        ImportError: when there is no such module.
        AttributeError: when the module has no such object.
        ValueError: when the path has no dot.
    """
    module, _, name = path.rpartition(".")
    return getattr(importlib.import_module(module), name)


def build_arguments(cls: type, plain: dict[str, Any]) -> dict[str, Any]:
    """Constructor arguments from plain values: a mapping becomes the dataclass that the constructor declares.

    Raises:
        TypeError: when a mapping has a key that the dataclass has not, or has not one that it needs.
        ValueError: when a dataclass refuses its values.
    """
    hints = get_type_hints(cls.__init__)  # type: ignore[misc]
    return {
        name: hints[name](**value) if isinstance(value, dict) and is_dataclass(hints[name]) else value
        for name, value in plain.items()
    }


def state_hash(module: nn.Module) -> str:
    """sha256 over the names, types, shapes and bytes of a module's state."""
    digest = hashlib.sha256()
    for name, value in sorted(module.state_dict().items()):
        digest.update(f"{name} {value.dtype} {tuple(value.shape)}".encode())
        digest.update(value.detach().cpu().contiguous().view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()
