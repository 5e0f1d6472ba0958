"""Which settings of the data decide what is trained on, and which only what is measured on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from objectives.construction.class_paths import import_object
from objectives.construction.identity import CLASS_PATH, SETTINGS, shortened


def trained_on(plain: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a data set that decide what is trained on, less those that equal their defaults.

    Args:
        plain: class path and settings, as plain values.
    """
    return shortened(plain, left_out=lambda cls: (*getattr(cls, "measured_on", ()), *getattr(cls, "placement", ())))


def measured_on(plain: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a data set, and of the corpus in it, that only decide what is measured on.

    Args:
        plain: class path and settings, as plain values.
    """
    cls, settings = import_object(plain[CLASS_PATH]), plain.get(SETTINGS) or {}
    found = {name: value for name, value in settings.items() if name in getattr(cls, "measured_on", ())}
    for name, value in settings.items():
        if isinstance(value, Mapping) and CLASS_PATH in value and (inner := measured_on(value)):
            found[name] = inner
    return found
