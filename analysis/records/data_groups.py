"""A grid on several languages or corpora falls into families of arms that read the same data; nothing is compared
between two families.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from analysis.records.run_records import Arm

DATA_FACTORS = ("language", "corpus", "data")
"""Axes of a grid whose levels are different data by design."""
UNKNOWN = "data not known before the first run begins"


@dataclass(frozen=True)
class Family:
    """The arms of one data source. Where the grid has an axis for the data, arms are named by the other axes."""

    source: str
    arms: tuple[Arm, ...]
    named: dict[str, str]
    """Name in the grid -> name in the family."""


def families(arms: Sequence[Arm]) -> list[Family]:
    """Arms by data factors and corpus, in the order planned. An arm that has not begun does not know its corpus yet:
    it goes with the others of its data factors when those agree on one.
    """
    corpora: dict[str, set[str]] = {}
    for arm in arms:
        corpora.setdefault(_level(arm), set()).update(filter(None, [_corpus(arm)]))
    groups: dict[tuple[str, str], list[Arm]] = {}
    for arm in arms:
        level = _level(arm)
        known = corpora[level]
        corpus = _corpus(arm) or (next(iter(known)) if len(known) == 1 else "")
        groups.setdefault((level, corpus), []).append(arm)
    found = []
    for (level, corpus), members in groups.items():
        source = level or corpus or UNKNOWN
        if level and len(corpora[level]) > 1:
            source = f"{level} ({corpus or UNKNOWN})"
        named = _short_names(members)
        found.append(Family(source, tuple(_renamed(arm, named[arm.name]) for arm in members), named))
    return found


def _level(arm: Arm) -> str:
    factors = arm.cells[0].factors
    return ", ".join(factors[key] for key in DATA_FACTORS if key in factors)


def _corpus(arm: Arm) -> str | None:
    return next((cell.corpus for cell in arm.cells if cell.corpus), None)


def _short_names(arms: Sequence[Arm]) -> dict[str, str]:
    """Names without the levels of the data factors; unchanged where an arm was not named after its factors."""
    full = [arm.name for arm in arms]
    short = [", ".join(v for k, v in arm.cells[0].factors.items() if k not in DATA_FACTORS) for arm in arms]
    after_factors = all(arm.name == ", ".join(arm.cells[0].factors.values()) for arm in arms)
    usable = after_factors and all(short) and len(set(short)) == len(short)
    return dict(zip(full, short if usable else full, strict=True))


def _renamed(arm: Arm, name: str) -> Arm:
    return arm if arm.name == name else Arm(name, tuple(replace(cell, arm=name) for cell in arm.cells))


def slugs(sources: Iterable[str]) -> list[str]:
    """A different file name part for each source."""
    found: list[str] = []
    for source in sources:
        slug = re.sub(r"[^\w.]+", "-", source).strip("-.") or "source"
        found.append(slug if slug not in found else f"{slug}-{len(found) + 1}")
    return found
