"""A grid on several languages or corpora falls into data groups: arms that read the same data, the only ones that are
compared with each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from analysis.records.run_records import Arm

DATA_FACTORS = ("language", "corpus", "data")
"""Axes of a grid whose levels are different data by design."""
UNKNOWN = "data not known before the first run begins"


@dataclass(frozen=True)
class DataGroup:
    """The arms that read the same data. Where the grid has an axis for the data, arms are named by the other axes."""

    name: str
    arms: tuple[Arm, ...]
    short_names: dict[str, str]
    """Name in the grid -> name in the group."""


def group_by_data(arms: Sequence[Arm]) -> list[DataGroup]:
    """Arms by data factors and corpus, in the order planned.

    An arm that has not begun does not know its corpus yet: it goes with the others of its data factors when those
    agree on one.
    """
    corpora: dict[str, set[str]] = {}
    for arm in arms:
        corpora.setdefault(_data_level(arm), set()).update(filter(None, [_corpus(arm)]))
    members: dict[tuple[str, str], list[Arm]] = {}
    for arm in arms:
        known = corpora[_data_level(arm)]
        corpus = _corpus(arm) or (next(iter(known)) if len(known) == 1 else "")
        members.setdefault((_data_level(arm), corpus), []).append(arm)
    groups = []
    for (level, corpus), together in members.items():
        name = level or corpus or UNKNOWN
        if level and len(corpora[level]) > 1:
            name = f"{level} ({corpus or UNKNOWN})"
        short = _short_names(together)
        groups.append(DataGroup(name, tuple(_renamed(arm, short[arm.name]) for arm in together), short))
    return groups


def _data_level(arm: Arm) -> str:
    return "; ".join(arm.factors[key] for key in DATA_FACTORS if key in arm.factors)


def _corpus(arm: Arm) -> str | None:
    return next((run.corpus for run in arm.runs if run.corpus), None)


def _short_names(arms: Sequence[Arm]) -> dict[str, str]:
    """Names without the levels of the data factors; unchanged where an arm was not named after its factors."""
    full = [arm.name for arm in arms]
    short = ["; ".join(v for k, v in arm.factors.items() if k not in DATA_FACTORS) for arm in arms]
    after_factors = all(arm.name == "; ".join(arm.factors.values()) for arm in arms)
    usable = after_factors and all(short) and len(set(short)) == len(short)
    return dict(zip(full, short if usable else full, strict=True))


def _renamed(arm: Arm, name: str) -> Arm:
    return arm if arm.name == name else Arm(name, tuple(replace(run, arm=name) for run in arm.runs))
