"""Shipped grids: `clm-vs-mlm sweep NAME`."""

from pathlib import Path

from experiments.shipped import find_yaml

FOLDER = Path(__file__).parent


def path_of(name: str) -> Path | None:
    """The file of a shipped grid; None when there is none of that name."""
    return find_yaml(FOLDER, name)


def names() -> list[str]:
    """The names of the shipped grids."""
    return sorted(path.stem for path in FOLDER.glob("*.yaml"))
