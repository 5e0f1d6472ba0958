"""What a report consists of, in the order it is read."""

from __future__ import annotations

from collections.abc import Sequence

from analysis.figures.overview import overview
from analysis.records.results import Grid
from analysis.sections.data_group import family_sections
from analysis.sections.document import Document, Section, told_apart
from analysis.sections.summary import summarise
from analysis.statistics.group_comparisons import Findings, find
from analysis.statistics.thresholds import given_threshold
from analysis.tables.final_scores import runs

HOW = (
    "In every figure of curves, thin lines are single seeds (dotted: not finished). The thick line is the"
    " mean over the finished seeds, or over all where none is finished; the shade is its 95 % t-interval,"
    " cut at the frame. Seeds recorded at different places, as in seconds, are interpolated onto 60 "
    "places in their common range. Of the excess, mean and interval are those of its logs."
)


def compose(grid: Grid, given: Sequence[tuple[str, float]], axis: str, log: bool) -> Document:
    """Build the report of a grid; `given` are thresholds asked for beside the automatic ones."""
    asked = [given_threshold(grid, quantity, value) for quantity, value in given]
    found = [find(family, asked) for family in grid.families]
    summary, alerts = summarise(grid, found, axis), _alerts(grid, found)
    if not grid.recorded:
        return Document(grid.title, summary, alerts, [_runs(grid)])
    by_family = [family_sections(one, axis, log) if one.grid.recorded else [] for one in found]
    if len(found) > 1:
        by_family = told_apart(by_family, [family.source for family in grid.families])
    middle = [section for sections in by_family for section in sections]
    return Document(grid.title, summary, alerts, [_overview(grid, axis, log), *middle, _pairing(found), _runs(grid)])


def _alerts(grid: Grid, found: Sequence[Findings]) -> list[str]:
    alerts = [f"{f.grid.prefix}Refused: {p.refusal}" for f in found for p in f.pairs if p.refusal is not None]
    open_cells = [cell for cell in grid.cells if not cell.finished]
    if open_cells:
        alerts.append("Not finished: " + "; ".join(f"{c.name}: {c.progress}" for c in open_cells) + ".")
    for cell in open_cells:
        if cell.state.state == "failed":
            log = cell.state.log or cell.directory / "log.txt"
            alerts.append(f"{cell.name} failed: {cell.state.error or 'no error recorded'} (log: {log})")
    for family in grid.families:
        budgets = sorted({cell.budget_tokens for cell in family.cells if cell.budget_tokens})
        if len(budgets) > 1:
            shown = ", ".join(f"{budget:,}" for budget in budgets)
            alerts.append(
                f"{family.prefix}The runs have different budgets ({shown} tokens), so final scores are not at equal "
                "budgets."
            )
    return alerts


def _overview(grid: Grid, axis: str, log: bool) -> Section:
    section = Section("overview", "Overview", [HOW])
    section.draw(overview(grid, axis, log))
    return section


def _pairing(found: Sequence[Findings]) -> Section:
    section = Section("pairing", "Pairing")
    pairs = [(one.grid.prefix, pair) for one in found for pair in one.pairs]
    if len(found) > 1:
        section.text.append("Arms that read different data are not paired and not compared.")
    if not pairs:
        section.text.append("Nothing is compared, so nothing has to be paired.")
    for prefix, pair in pairs:
        names = f"{prefix}{pair.arm.name} and {pair.reference.name}"
        if pair.refusal is not None:
            section.alerts.append(f"{prefix}Refused: {pair.refusal}")
        elif pair.seeds:
            seeds = ", ".join(map(str, pair.seeds))
            section.text.append(
                f"{names}: proved to be paired in seeds {seeds}; equal initial encoder weights, tokenizer,"
                " packed data, world size, and stream of text at every common step."
            )
        else:
            section.text.append(f"{names}: no seed of which both have recorded anything.")
    return section


def _runs(grid: Grid) -> Section:
    return Section("runs", "Runs", tables=[runs(grid)])
