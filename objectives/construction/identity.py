"""What an object built from settings is: class path and arguments as plain values, and the hash of its weights."""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable, Collection, Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from typing import Any, NamedTuple, get_args, get_origin, get_type_hints

import torch
from torch import nn

from objectives.construction.class_paths import class_path, import_object
from objectives.settings import NOT_SAVED, SharedSettings

PLAIN = (str, int, float, bool, list, tuple, dict, type(None))
CLASS_PATH, SETTINGS = "class_path", "init_args"
REQUIRED = inspect.Parameter.empty
"""Stands for the default of a parameter that has none."""


def describe_objective(objective: Any) -> dict[str, Any]:
    """Class path and arguments of an objective as plain values, of which `inference.checkpoint` builds it again.

    Raises:
        ValueError: when the objective does not keep an argument of its constructor under the argument's name, or the
            argument is neither plain nor a dataclass of plain values.
    """
    cls, shared = type(objective), {field.name for field in fields(SharedSettings)}
    arguments = {}
    for name, declared in constructor_types(cls).items():
        if name in NOT_SAVED:
            continue
        holder = objective.shared if name in shared else objective
        if not hasattr(holder, name):
            raise ValueError(f"{cls.__name__} has to keep its argument {name} as self.{name}, so that it can be saved")
        arguments[name] = _to_plain(getattr(holder, name), declared, f"{cls.__name__}.{name}")
    return {"class_path": class_path(cls), "arguments": arguments}


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


class Parameter(NamedTuple):
    """A parameter of a constructor: its annotation, and its default or REQUIRED."""

    annotation: Any
    default: Any = REQUIRED


def constructor_types(cls: type) -> dict[str, Any]:
    """Name and annotation of each parameter of a constructor; raises as `constructor_parameters` does."""
    return {name: parameter.annotation for name, parameter in constructor_parameters(cls).items()}


def constructor_parameters(cls: type) -> dict[str, Parameter]:
    """The parameters of a constructor by name, those that `**kwargs` hands on to its bases included.

    What no base of an objective names are the fields of SharedSettings.

    Raises:
        ValueError: when a parameter has no annotation.
    """
    if is_dataclass(cls):
        hints = get_type_hints(cls)
        return {field.name: Parameter(hints[field.name], _default(field)) for field in fields(cls) if field.init}
    found: dict[str, Parameter] = {}
    for base in cls.__mro__:
        if "__init__" not in vars(base):
            continue
        hints = get_type_hints(vars(base)["__init__"])
        _, *parameters = inspect.signature(vars(base)["__init__"]).parameters.values()
        named = [one for one in parameters if one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD)]
        for parameter in named:
            if parameter.name not in hints:
                raise ValueError(
                    f"{base.__name__}.__init__ has no annotation for its parameter {parameter.name}; give it one, such "
                    f"as {parameter.name}: float, so that settings can be read for it"
                )
            found.setdefault(parameter.name, Parameter(hints[parameter.name], parameter.default))
        if not any(one.kind is one.VAR_KEYWORD for one in parameters):
            return found
        if "shared" in inspect.get_annotations(base):
            return found | constructor_parameters(SharedSettings)
    return found


def _default(field: Field) -> Any:
    if field.default_factory is not MISSING:
        return field.default_factory()
    return REQUIRED if field.default is MISSING else field.default


def without_defaults(
    cls: type, settings: Mapping[str, Any], left_out: Callable[[type], Collection[str]] = lambda cls: ()
) -> dict[str, Any]:
    """The settings of a class, as plain values, that differ from its defaults, at any depth.

    Args:
        left_out: of a class, the names of settings that are left out whatever their value.
    """
    kept = {}
    try:
        parameters = constructor_parameters(cls)
    except (ValueError, NameError):  # no class of ours: its annotations are missing, or cannot be read
        parameters = {}
    ignored = left_out(cls)
    for name, value in settings.items():
        parameter = parameters.get(name, Parameter(Any))
        short = shortened(value, parameter.annotation, left_out)
        if name not in ignored and not _is_default(short, parameter, left_out):
            kept[name] = short
    return kept


def _is_default(short: Any, parameter: Parameter, left_out: Callable[[type], Collection[str]]) -> bool:
    if parameter.default is REQUIRED:
        return False
    try:
        default = _to_plain(parameter.default, parameter.annotation, "a default")
    except ValueError:  # such as a time or a device, which is written in another way than it is
        return False
    return bool(short == shortened(default, parameter.annotation, left_out))


def shortened(value: Any, declared: Any = Any, left_out: Callable[[type], Collection[str]] = lambda cls: ()) -> Any:
    """A plain value, every class path in it spelled out and every setting left out that equals its default."""
    if isinstance(value, list | tuple):
        return [shortened(one, Any, left_out) for one in value]
    if not isinstance(value, Mapping):
        return value
    if CLASS_PATH in value:
        cls = import_object(value[CLASS_PATH])
        settings = without_defaults(cls, value.get(SETTINGS) or {}, left_out)
        return {CLASS_PATH: class_path(cls), SETTINGS: settings}
    options = [one for one in get_args(declared) or (declared,) if is_dataclass(one)]
    if not options:
        return {name: shortened(one, Any, left_out) for name, one in value.items()}
    return without_defaults(options[0], value, left_out)  # type: ignore[arg-type]


def build_arguments(cls: type, plain: Mapping[str, Any]) -> dict[str, Any]:
    """Constructor arguments from plain values: a mapping becomes the dataclass that the constructor declares, and one
    with a class path an object of that class.

    Raises:
        TypeError: when a mapping has a key that the dataclass has not, or has not one that it needs.
        ValueError: when a dataclass refuses its values, or a parameter has no annotation.
        ImportError: when there is no such class.
    """
    declared = constructor_types(cls)
    return {name: _from_plain(value, declared.get(name, Any)) for name, value in plain.items()}


def _from_plain(value: Any, declared: Any) -> Any:
    if isinstance(value, list | tuple):
        return type(value)(_from_plain(one, _of_elements(declared)) for one in value)
    if not isinstance(value, Mapping) or get_origin(declared) is dict:
        return value
    options = tuple(one for one in get_args(declared) or (declared,) if isinstance(one, type))
    if CLASS_PATH in value:
        cls = import_object(value[CLASS_PATH])
        if not (isinstance(cls, type) and issubclass(cls, options)):  # a file must not choose what is called
            raise ValueError(f"{value[CLASS_PATH]} is not a {' or '.join(one.__name__ for one in options)}")
        return cls(**build_arguments(cls, value.get(SETTINGS) or {}))
    cls = next((one for one in options if is_dataclass(one)), None)
    return value if cls is None else cls(**build_arguments(cls, value))


def _of_elements(declared: Any) -> Any:
    """The annotation of the elements of a list or a tuple of any length; Any where it has none."""
    lists = (one for one in (declared, *get_args(declared)) if get_origin(one) in (list, tuple))
    return next((get_args(one)[0] for one in lists), Any)


def _to_plain(value: Any, declared: Any, name: str) -> Any:
    if isinstance(value, list | tuple):
        return type(value)(_to_plain(one, _of_elements(declared), name) for one in value)
    if not is_dataclass(value) or isinstance(value, type):
        if not isinstance(value, PLAIN):
            raise ValueError(f"{name} is a {type(value).__name__}, but settings are plain values or frozen dataclasses")
        return value
    settings = {
        field: _to_plain(getattr(value, field), hint, f"{name}.{field}")
        for field, hint in constructor_types(type(value)).items()
    }
    return settings if type(value) is declared else {CLASS_PATH: class_path(type(value)), SETTINGS: settings}


def state_hash(module: nn.Module) -> str:
    """sha256 over the names, types, shapes and bytes of a module's state."""
    digest = hashlib.sha256()
    for name, value in sorted(module.state_dict().items()):
        digest.update(f"{name} {value.dtype} {tuple(value.shape)}".encode())
        digest.update(value.detach().cpu().contiguous().view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()
