"""A grid is one YAML: a base configuration, axes, and seeds.

    title: Mask rates on Chinese news
    base: {model: {...}, data: {...}}
    axes:
      arm:                                             # named levels, each a piece of configuration
        clm: {model.class_path: objectives.CLM}
        mlm: {model.class_path: objectives.MLM}
      model.init_args.optimizer.learning_rate: [0.001, 0.003]      # or a key and its values
    seeds: [1, 2, 3]
    imports: [my_package]                              # that its class paths name: say --allow-import my_package
    reference: clm                                     # the arm or level that reports compare the others with

Cells are the product of all axes, each with every seed; keys may be nested or dotted. An arm is named by its levels,
"mlm; 0.003". A level may start from the weights of another one of its axis, of the same seed and other levels:

        clm, then mlm: {model.class_path: objectives.MLM, model.init_args.start: {level: clm}}
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from experiments import grids
from experiments.strict_yaml import leaves, read_yaml

KEYS = {"title", "reference", "base", "axes", "seeds", "imports"}
LONGEST_NAME = 150
MOST_CELLS = 10_000
START = "model.init_args.start"
NOT_IN_CELLS = {
    "seed_everything": "give seeds",
    "name": "a run is named by its levels and its seed",
    "results": "give --results",
}
"""Settings of a run that a grid gives each cell itself."""


@dataclass(frozen=True)
class Cell:
    """One run of a grid: a name, its level on each axis, and its configuration."""

    name: str
    arm: str
    seed: int
    factors: dict[str, str]
    config: dict[str, Any]
    start: str | None = None
    """The name of the cell whose run it starts from; its configuration says by which level."""


@dataclass(frozen=True)
class Grid:
    """A named list of cells. `imports`: packages that its class paths name, which the user has to allow."""

    name: str
    title: str
    cells: list[Cell]
    source: str
    imports: list[str] = field(default_factory=list)


def find_grid(name: str) -> Path:
    """A grid's file, given by path or by the bare name of a shipped one.

    Raises:
        ValueError: when there is no such grid; lists the shipped ones.
    """
    path = Path(name)
    if path.is_file():
        return path
    found = grids.path_of(name)
    if found is None:
        raise ValueError(f"no grid {name}: give the path of a YAML file, or one of {', '.join(grids.names())}")
    return found


def read_grid(path: Path) -> Grid:
    """The cells of a grid file, in order: seeds vary fastest.

    Raises:
        ValueError: when the file is no grid, or two cells would have one name.
    """
    content = read_yaml(path)
    _check_content(path, content)
    # What is shown to people is shown as they wrote it: 2024-01-01, 0.10 and on are names here.
    written = read_yaml(path, as_written=True)
    _check_texts(path, written)
    axes = {
        name: _levels(path, name, levels, written["axes"][name]) for name, levels in content.get("axes", {}).items()
    }
    count = len(content["seeds"]) * math.prod(map(len, axes.values()))
    if count > MOST_CELLS:
        raise ValueError(f"{path} has {count:,} runs, but a grid has at most {MOST_CELLS:,}; make it several grids")
    _check_settings(path, content["base"], axes)
    cells = _cells(path, content["base"], axes, content["seeds"])
    called = [cell.name for cell in cells]
    if twice := sorted({name for name in called if called.count(name) > 1}):
        raise ValueError(f"{path}: more than one cell is called {', '.join(twice)}; name levels and seeds differently")
    _check_starts(path, cells)
    _check_reference(path, written.get("reference") or None, cells)
    source = path.read_text(encoding="utf-8")
    return Grid(path.stem, written.get("title") or path.stem, cells, source, written.get("imports") or [])


def _check_content(path: Path, content: Any) -> None:
    if not isinstance(content, dict) or not content.keys() <= KEYS or not {"base", "seeds"} <= content.keys():
        raise ValueError(f"{path} is no grid: it takes the keys {', '.join(sorted(KEYS))}, base and seeds among them")
    if path.stem in ("", ".", "..") or not path.stem.isprintable() or len(path.stem.encode()) > LONGEST_NAME:
        raise ValueError(
            f"a grid's directory is called like its file, so {path.stem!r} cannot be its name; rename {path}, to at "
            f"most {LONGEST_NAME} bytes"
        )
    kinds = {"base": dict, "axes": dict, "imports": list}
    if wrong := [key for key, kind in kinds.items() if not isinstance(content.get(key, kind()), kind)]:
        raise ValueError(f"{path}: base and axes must be mappings and imports a list; look at {', '.join(wrong)}")
    seeds = content["seeds"]
    if not isinstance(seeds, list) or not seeds or not all(type(seed) is int for seed in seeds):
        raise ValueError(f"{path}: seeds must be a list of whole numbers, but is {seeds}")


def _check_texts(path: Path, written: dict[str, Any]) -> None:
    """Refuse a title, a reference or a package that is no line of text."""
    for key in ("title", "reference", "imports"):
        values = (written.get(key) or []) if key == "imports" else [written.get(key, "")]
        if not all(isinstance(value, str) and value.isprintable() for value in values):
            raise ValueError(f"{path}: {key} must be text on one line, but is {written[key]}")


def _check_settings(path: Path, base: dict[str, Any], axes: dict[str, dict[str, dict[str, Any]]]) -> None:
    """Refuse what would give a cell another setting than its name says."""
    for piece in (base, *(settings for levels in axes.values() for settings in levels.values())):
        for setting in {key.partition(".")[0] for key in piece} & NOT_IN_CELLS.keys():
            raise ValueError(f"{path}: {setting} cannot be set in a grid; {NOT_IN_CELLS[setting]}")
    for (one, first), (two, second) in itertools.combinations(axes.items(), 2):
        for (label, settings), (other, others) in itertools.product(first.items(), second.items()):
            if setting := _set_otherwise(dict(leaves(settings)), dict(leaves(others))):
                raise ValueError(
                    f"{path}: level {label} of {one} and level {other} of {two} both set {setting}, and not alike; let "
                    f"one axis set it"
                )


def _set_otherwise(one: dict[str, Any], two: dict[str, Any]) -> str:
    """A setting that two pieces of configuration set differently; empty where there is none."""
    for path, value in one.items():
        for other, its in two.items():
            nested = path.startswith(f"{other}.") or other.startswith(f"{path}.")
            if nested or (path == other and value != its):
                return max(path, other, key=len)
    return ""


def _check_reference(path: Path, reference: str | None, cells: list[Cell]) -> None:
    arms = dict.fromkeys(cell.arm for cell in cells)
    levels = dict.fromkeys(level for cell in cells for level in cell.factors.values())
    if reference is None or reference in arms:
        return
    axes = dict.fromkeys(axis for cell in cells for axis, level in cell.factors.items() if level == reference)
    if not axes:
        raise ValueError(
            f"{path}: reference {reference} names neither an arm nor a level of an axis; give one of "
            f"{', '.join(levels or arms)}"
        )
    if len(axes) > 1:
        raise ValueError(
            f"{path}: reference {reference} is a level of {' and '.join(axes)}; name a whole arm, such as "
            f"{next(cell.arm for cell in cells if reference in cell.factors.values())}"
        )


def _cells(
    path: Path, base: dict[str, Any], axes: dict[str, dict[str, dict[str, Any]]], seeds: list[int]
) -> list[Cell]:
    """The product of axes and seeds. An axis is called by its last part, unless another has the same."""
    short = [axis.rpartition(".")[2] for axis in axes]
    names = [name if short.count(name) == 1 else axis for axis, name in zip(axes, short, strict=True)]
    cells = []
    for levels in itertools.product(*(levels.items() for levels in axes.values())):
        config = merged({}, base)
        for _, overrides in levels:
            config = merged(config, overrides)
        factors = {name: label for name, (label, _) in zip(names, levels, strict=True)}
        arm = _arm(factors.values())
        start = _start_of(path, config, dict(zip(axes, levels, strict=True)), axes)
        for seed in seeds:
            seeded = merged(config, {"seed_everything": seed})
            cells.append(Cell(_name(arm, seed), arm, seed, factors, seeded, start and _name(start, seed)))
    return cells


def _start_of(
    path: Path,
    config: dict[str, Any],
    levels: Mapping[str, tuple[str, dict[str, Any]]],
    axes: Mapping[str, Mapping[str, Any]],
) -> str | None:
    """The arm that a cell starts from; None where none is named, as where it starts from a path.

    Args:
        levels: axis -> label and settings of the cell's level.
    """
    found = {setting: value for setting, value in leaves(config) if setting.startswith(f"{START}.")}
    if not found:
        return None
    named = found.get(f"{START}.level")
    axis = next((axis for axis, (_, settings) in levels.items() if f"{START}.level" in dict(leaves(settings))), None)
    if len(found) > 1 or axis is None or named not in axes[axis].keys() - {levels[axis][0]}:
        raise ValueError(
            f"{path}: {START} takes the path of a run or, in a level of an axis, {{level: NAME}} with the name of "
            f"another level of that axis, but is {found}"
        )
    return _arm(str(named) if name == axis else label for name, (label, _) in levels.items())


def _check_starts(path: Path, cells: Sequence[Cell]) -> None:
    """Refuse a cell that starts from itself, over others."""
    start_of = {cell.name: cell.start for cell in cells}
    for cell in cells:
        above, seen = cell.start, {cell.name}
        while above is not None:
            if above in seen:
                raise ValueError(
                    f"{path}: {cell.name} would start from itself; let one of {', '.join(seen)} start anew"
                )
            seen.add(above)
            above = start_of[above]


def _arm(labels: Iterable[str]) -> str:
    return "; ".join(labels) or "run"


def _name(arm: str, seed: int) -> str:
    return f"{_slug(arm)}-s{seed}"


def merged(base: Mapping[str, Any], overrides: Mapping[str, Any]) -> dict[str, Any]:
    """A copy of `base` with nested or dotted `overrides` laid over it; mappings are merged, all else is replaced."""
    result: dict[str, Any] = {}
    for source in (base, overrides):
        for key, value in source.items():
            first, _, rest = key.partition(".")
            new = {rest: value} if rest else value
            if isinstance(new, Mapping):
                old = result.get(first)
                result[first] = merged(old if isinstance(old, Mapping) else {}, new)
            else:
                result[first] = new
    return result


def _levels(path: Path, name: str, levels: Any, written: Sequence[Any]) -> dict[str, dict[str, Any]]:
    """Label and settings of each level of an axis; `written` has the values as they are written."""
    if isinstance(levels, dict | list) and not all(map(_is_name, written)):
        raise ValueError(f"{path}: a level of axis {name} has no name that can be read on one line; give it one")
    if isinstance(levels, dict) and levels and all(isinstance(level, dict) for level in levels.values()):
        return levels
    if isinstance(levels, list) and levels:
        labels = [text if isinstance(text, str) else str(value) for text, value in zip(written, levels, strict=True)]
        if len(set(labels)) == len(labels):
            return {label: {name: value} for label, value in zip(labels, levels, strict=True)}
    raise ValueError(
        f"{path}: axis {name} must be a list of different values for that key, or a mapping from names of levels to "
        f"pieces of configuration"
    )


def _is_name(label: Any) -> bool:
    return bool(str(label).strip()) and str(label).isprintable()


def _slug(label: str) -> str:
    return re.sub(r"[^\w.]+", "-", label).strip("-") or "level"
