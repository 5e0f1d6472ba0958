"""Shipped configurations of a run: `clm-vs-mlm fit --config NAME`."""

from pathlib import Path

from experiments.shipped import find_yaml

FOLDER = Path(__file__).parent


def path_of(name: str) -> Path | None:
    """The file of a shipped configuration; None when there is none of that name."""
    return find_yaml(FOLDER, name)
