"""A report before it is written: sections of text, alerts, tables and drawings."""

from __future__ import annotations

from dataclasses import dataclass, field

from analysis.figures import Drawing
from analysis.tables import Table


@dataclass
class Section:
    """anchor is its address in the page; alerts are shown loudly."""

    anchor: str
    title: str
    text: list[str] = field(default_factory=list)
    alerts: list[str] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)
    drawings: list[Drawing] = field(default_factory=list)

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
