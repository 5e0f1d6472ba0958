"""Class paths: which packages they may name, and what stands at one.

A configuration, a grid or a checkpoint may come from anywhere, and importing a module runs it. So a path is imported
only if it names a package of ours or one that the user has allowed, and gives only what is defined in one of those.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from types import ModuleType
from typing import Any

OUR_PACKAGES = ("objectives", "experiments", "pytorch_lightning", "torch.optim")
_allowed: dict[str, None] = dict.fromkeys(OUR_PACKAGES)
"""Those of this process, as a set in order."""


class NotAllowed(ValueError):
    """A class path names a package that nobody has allowed."""


def allow_imports(packages: Iterable[str]) -> None:
    """Let class paths name these packages too, in this process.

    Raises:
        ValueError: when one is no name of a package.
    """
    for package in packages:
        if not all(part.isidentifier() for part in package.split(".")):
            raise ValueError(f"--allow-import takes the name of a package, such as my_package, but got {package!r}")
        _allowed[package] = None


def allowed_imports() -> list[str]:
    """The packages that class paths may name in this process."""
    return list(_allowed)


def is_within(path: str, packages: Iterable[str]) -> bool:
    """Whether a dotted path is that of one of the packages, or of something inside of one."""
    return any(f"{path}.".startswith(f"{package}.") for package in packages)


def how_to_allow(path: str) -> str:
    """What to do about a class path that is refused."""
    package = path.partition(".")[0]
    return f"importing it would run code of {package}; if you trust that, add --allow-import {package}"


def class_path(cls: type) -> str:
    """The dotted path of a class."""
    return f"{cls.__module__}.{cls.__qualname__}"


def import_object(path: str) -> Any:
    """The object at a dotted path.

    Raises:
        NotAllowed: a ValueError, before anything is imported, when the path names no package that is allowed; and when
            what stands there comes from another one, as `os` in `objectives.construction.identity.os` would.
        ImportError: when there is no such module, or no such object in it; its `name` is that of the module.
        ValueError: when the path has no dot.
    """
    if not is_within(path, _allowed):
        raise NotAllowed(f"{path} is not imported: {how_to_allow(path)}")
    module, _, name = path.rpartition(".")
    found = importlib.import_module(module)
    if not hasattr(found, name):
        raise ImportError(f"{module} has no {name}", name=module)
    value = getattr(found, name)
    home = value.__name__ if isinstance(value, ModuleType) else getattr(value, "__module__", None)
    if not isinstance(home, str) or not is_within(home, _allowed):
        raise NotAllowed(f"{path} stands for something of {home}, and is not used: {how_to_allow(str(home))}")
    return value
