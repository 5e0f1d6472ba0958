"""A report before it is written: sections of text, alerts, tables and drawings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from analysis.figures.style import Drawing
from analysis.records.data_groups import slugs
from analysis.tables.table import Table


@dataclass
class Section:
    """anchor is its address in the page; alerts are shown loudly."""

    anchor: str
    title: str
    text: list[str] = field(default_factory=list)
    alerts: list[str] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)
    drawings: list[Drawing] = field(default_factory=list)

    @property
    def names(self) -> list[str]:
        """Of its tables and drawings, which are file names."""
        return [*(table.name for table in self.tables), *(drawing.name for drawing in self.drawings)]

    def draw(self, drawing: Drawing | None) -> None:
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


def told_apart(by_family: Sequence[list[Section]], sources: Sequence[str]) -> list[list[Section]]:
    """Sections of several families under titles, addresses and file names of their own.

    A figure or table that only one family has keeps its name. A published table that several have is given once.
    """
    owners = Counter(name for sections in by_family for name in {n for section in sections for n in section.names})
    given: set[tuple[str, str]] = set()
    found = []
    for sections, source, slug in zip(by_family, sources, slugs(sources), strict=True):
        found.append([_apart(section, source, slug, owners, given) for section in sections])
    return found


def _apart(section: Section, source: str, slug: str, owners: Counter[str], given: set[tuple[str, str]]) -> Section:
    tables = []
    for table in section.tables:
        content = (table.name, str(table.display))
        if not table.measured:
            tables += [] if content in given else [table]
            given.add(content)
        else:
            tables.append(table if owners[table.name] == 1 else replace(table, name=f"{table.name}_{slug}"))
    drawings = [d if owners[d.name] == 1 else replace(d, name=f"{d.name}-{slug}") for d in section.drawings]
    title, anchor = f"{source}: {section.title}", f"{section.anchor}-{slug}"
    return replace(section, title=title, anchor=anchor, tables=tables, drawings=drawings)
