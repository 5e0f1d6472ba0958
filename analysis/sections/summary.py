"""The first screen: what the numbers say, in plain words, written from the numbers."""

from __future__ import annotations

from collections.abc import Sequence

from analysis.records.quantities import AXES, label, sentence
from analysis.records.results import Grid
from analysis.records.run_records import Missing
from analysis.sections.bayes_summary import best_possible
from analysis.statistics.compare import UNCLEAR, Comparison
from analysis.statistics.convergence import counted, mean_budget
from analysis.statistics.density import density
from analysis.statistics.group_comparisons import Findings
from analysis.statistics.intervals import Interval
from analysis.statistics.thresholds import Threshold
from analysis.tables.convergence import ratio_cell
from analysis.tables.final_scores import finals
from analysis.tables.table import show

FEW = 2
"""Up to this many comparisons are encoded out; more are counted."""


def summarise(grid: Grid, found: Sequence[Findings], axis: str) -> list[str]:
    """Sentences for the top of the report, family by family."""
    done = sum(cell.finished for cell in grid.cells)
    sources = f", on {len(found)} data sources that are not compared with each other" if len(found) > 1 else ""
    said = [f"{done} of {len(grid.cells)} runs are finished, in {len(grid.arms)} arms{sources}."]
    if not grid.recorded:
        return [*said, "No run has recorded anything yet, so there is nothing to compare."]
    pairs = [pair for one in found for pair in one.pairs]
    refused = [pair for pair in pairs if pair.refusal is not None]
    if refused:
        said.append(f"{len(refused)} of {len(pairs)} comparisons are refused: the runs are not paired, see below.")
    if len(refused) < len(pairs):
        said.append(
            "In brackets are 95 % t-intervals over n seeds, one by one, not corrected for how many there "
            "are; a difference counts only when its interval leaves 0 out, a ratio when it leaves 1 out."
        )
    if not pairs:
        said.append("There is only one arm to look at, or no reference arm, so nothing is compared.")
    for one in found:
        said += [one.grid.prefix + line for line in _family(one, axis)]
    if any(len({arm.objective for arm in one.grid.arms}) > 1 for one in found):
        said.append(
            "The arms' own losses answer different questions and are not compared across objectives; "
            "the scores above are those that both can be measured by."
        )
    return said


def _family(found: Findings, axis: str) -> list[str]:
    grid = found.grid
    if not grid.recorded:
        return ["No run has recorded anything yet."]
    compared = [pair for pair in found.pairs if pair.refusal is None]
    said = best_possible(grid)
    for quantity in grid.main_yardsticks if compared else []:
        said += _final(compared, quantity)
    for goal in found.spoken if compared else []:
        said += _budget(compared, goal, axis)
    return said + _supervision(grid)


def _final(pairs: Sequence[Comparison], quantity: str) -> list[str]:
    name = sentence(label(quantity))
    if len(pairs) > FEW:
        verdicts = {pair.arm.name: pair.verdict(quantity) for pair in pairs}
        ahead = [arm for arm, verdict in verdicts.items() if verdict == f"{arm} is ahead"]
        behind = [p.arm.name for p in pairs if verdicts[p.arm.name] == f"{p.reference.name} is ahead"]
        return [f"{name} at the end, {_against(pairs)}: " + _groups(pairs, ahead, "ahead", behind, "behind", verdicts)]
    said = []
    for pair in pairs:
        found = pair.difference(quantity)
        if isinstance(found, Missing):
            said.append(f"{name} at the end, {pair.names}: {found}.")
            continue
        ours, theirs = (show(finals(one, quantity), "score") for one in (pair.arm, pair.reference))
        said.append(
            f"{name} at the end: {pair.verdict(quantity)}; {pair.reference.name} {theirs}, "
            f"{pair.arm.name} {ours}; paired difference {pair.names} {show(found, 'signed')}, n = {found.n}."
        )
    return said


def _budget(pairs: Sequence[Comparison], goal: Threshold, axis: str) -> list[str]:
    what, unit = f"To reach {label(goal.quantity)} {goal.value:.3f} ({goal.origin})", AXES[axis].label
    cells = {pair.arm.name: ratio_cell(pair, goal, axis) for pair in pairs}
    if len(pairs) > FEW:
        readings = {name: _reading(cell) for name, cell in cells.items()}
        fewer, more = ([n for n, r in readings.items() if r == word] for word in ("less", "more"))
        return [f"{what}, {unit}, {_against(pairs)}: " + _groups(pairs, fewer, "less", more, "more", readings)]
    said = []
    for pair in pairs:
        cell = cells[pair.arm.name]
        each = ", ".join(
            f"{one.name} {show(mean_budget(counted(one, goal, axis)), 'budget')}" for one in (pair.reference, pair.arm)
        )
        outcome = f"ratio {pair.arm.name} / {pair.reference.name} {show(cell, 'ratio')}"
        if isinstance(cell, Interval):
            reading = _reading(cell)
            needs = f"{pair.arm.name} needs {reading}" if reading in ("less", "more") else reading
            outcome = f"{needs}, {outcome}, n = {cell.n}"
        said.append(f"{what}, in {unit}: {outcome}; {each}.")
    return said


def _reading(cell: Interval | Missing) -> str:
    if isinstance(cell, Missing):
        return str(cell)
    if cell.silent:
        return cell.silent
    if not cell.excludes(1):
        return UNCLEAR
    return "more" if cell.mean > 1 else "less"


def _against(pairs: Sequence[Comparison]) -> str:
    return "against " + ", ".join(dict.fromkeys(pair.reference.name for pair in pairs))


def _groups(
    pairs: Sequence[Comparison],
    up: list[str],
    up_word: str,
    down: list[str],
    down_word: str,
    said: dict[str, str],
) -> str:
    """`ahead: a, b; behind: c; not distinguishable: d; no reading: e`, of n arms."""
    unclear = [name for name, words in said.items() if words == UNCLEAR]
    rest = [name for name in said if name not in (*up, *down, *unclear)]
    groups = ((up_word, up), (down_word, down), (UNCLEAR, unclear), ("no interval", rest))
    return "; ".join(f"{word}: {', '.join(names)}" for word, names in groups if names) + f" (of {len(pairs)} arms)."


def _supervision(grid: Grid) -> list[str]:
    shown = {}
    for arm in grid.arms:
        found = [d.realised for d in map(density, arm.cells) if d is not None]
        if found:
            shown[arm.name] = f"{sum(found) / len(found):.3f}"
    if len(shown) > 1 and len(set(shown.values())) == 1:
        return [f"Targets asked per token read: {next(iter(shown.values()))} in every arm."]
    return [f"Targets asked per token read: {', '.join(f'{k} {v}' for k, v in shown.items())}."] if shown else []
