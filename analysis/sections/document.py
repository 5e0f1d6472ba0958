"""A report before it is written: sections of text, alerts, tables and drawings."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from analysis.figures.style import Drawing
from analysis.tables.table import Table


@dataclass
class Section:
    """anchor is its address in the page; alerts are set off from the text."""

    anchor: str
    title: str
    text: list[str] = field(default_factory=list)
    alerts: list[str] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)
    drawings: list[Drawing] = field(default_factory=list)

    @property
    def file_names(self) -> list[str]:
        """Of its tables and drawings."""
        return [*(table.name for table in self.tables), *(drawing.name for drawing in self.drawings)]

    def add_drawing(self, drawing: Drawing | None) -> None:
        if drawing is not None:
            self.drawings.append(drawing)


@dataclass(frozen=True)
class Document:
    """A whole report before it is written."""

    title: str
    summary: list[str]
    alerts: list[str]
    sections: list[Section]

    @property
    def tables(self) -> list[Table]:
        return [table for section in self.sections for table in section.tables]

    @property
    def drawings(self) -> list[Drawing]:
        return [drawing for section in self.sections for drawing in section.drawings]


def disambiguate(by_group: Sequence[list[Section]], names: Sequence[str]) -> list[list[Section]]:
    """The sections of several data groups with the group's name in titles, addresses and file names.

    A figure or table that only one group has keeps its name. A published table that several have is given once, and
    the others say where.
    """
    owners = Counter(name for sections in by_group for name in {n for section in sections for n in section.file_names})
    published: dict[tuple[str, str], str] = {}
    return [
        [_with_group_name(section, name, slug, owners, published) for section in sections]
        for sections, name, slug in zip(by_group, names, slugs(names), strict=True)
    ]


def _with_group_name(
    section: Section, name: str, slug: str, owners: Counter[str], published: dict[tuple[str, str], str]
) -> Section:
    title, anchor = f"{name}: {section.title}", f"{section.anchor}-{slug}"
    tables, text = [], list(section.text)
    for table in section.tables:
        content = (table.name, str(table.display))
        if table.measured:
            tables.append(table if owners[table.name] == 1 else replace(table, name=f"{table.name}_{slug}"))
        elif content not in published:
            tables.append(table)
            published[content] = title
        else:
            text.append(f"Published scores to set beside these stand under {published[content]}.")
    drawings = [d if owners[d.name] == 1 else replace(d, name=f"{d.name}-{slug}") for d in section.drawings]
    return replace(section, title=title, anchor=anchor, text=text, tables=tables, drawings=drawings)


def with_own_names(sections: Sequence[Section]) -> list[Section]:
    """The sections with addresses and names of files that differ, whatever a factor or a quantity is called: later ones
    are numbered. Files whose names differ in case alone would be one on some systems."""
    anchors: set[str] = set()
    tables: set[str] = set()
    drawings: set[str] = set()
    return [
        replace(
            section,
            anchor=_own_name(section.anchor, anchors),
            tables=[replace(table, name=_own_name(table.name, tables)) for table in section.tables],
            drawings=[replace(drawing, name=_own_name(drawing.name, drawings)) for drawing in section.drawings],
        )
        for section in sections
    ]


def _own_name(name: str, given: set[str]) -> str:
    numbered = (f"{name}-{number}" for number in itertools.count(2))
    own = next(one for one in itertools.chain([name], numbered) if one.lower() not in given)
    given.add(own.lower())
    return own


def slugs(names: Iterable[str]) -> list[str]:
    """A different part of a file name for each name."""
    found: list[str] = []
    for name in names:
        slug = re.sub(r"[^\w.]+", "-", name).strip("-.") or "data"
        found.append(slug if slug not in found else f"{slug}-{len(found) + 1}")
    return found
