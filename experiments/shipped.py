"""Shipped YAML by its bare name."""

from __future__ import annotations

from pathlib import Path


def find_yaml(folder: Path, name: str) -> Path | None:
    """The file of `folder` that `name`, with or without .yaml, stands for; None when there is none."""
    path = folder / f"{name.removesuffix('.yaml')}.yaml"
    return path if path.parent == folder and path.is_file() else None
