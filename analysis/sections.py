"""What a report consists of, in the order it is read."""

from __future__ import annotations

from collections.abc import Sequence

from analysis import (
    figures_convergence,
    figures_curves,
    figures_scores,
    tables_convergence,
    tables_factors,
    tables_scores,
)
from analysis.cells import Missing
from analysis.compare import Comparison, against_baseline, comparisons
from analysis.document import Document, Section
from analysis.load import Grid
from analysis.published import OBJECTIVE
from analysis.quantities import AXES, label, rates
from analysis.summary import summarise
from analysis.thresholds import Threshold, given_threshold, thresholds

HOW = (
    "In every figure of curves, thin lines are single seeds (dotted: not finished). The thick line is the"
    " mean over the finished seeds, or over all where none is finished; the shade is its 95 % t-interval,"
    " cut at the frame. Seeds recorded at different places, as in seconds, are interpolated onto 60 "
    "places in their common range."
)


def compose(grid: Grid, given: Sequence[tuple[str, float]], axis: str, log: bool) -> Document:
    """Build the report of a grid; `given` are thresholds asked for beside the automatic ones."""
    pairs = comparisons(grid)
    asked = [given_threshold(grid, quantity, value) for quantity, value in given]
    if not grid.recorded:
        return Document(grid.title, summarise(grid, pairs, [], axis), _alerts(grid, pairs), [_runs(grid)])
    found = {quantity: thresholds(grid, quantity) for quantity in grid.yardsticks}
    goals = {quantity: list(goal) for quantity, goal in found.items() if not isinstance(goal, Missing)}
    missing = [f"{label(q)}: no thresholds, {m.reason}." for q, m in found.items() if isinstance(m, Missing)]
    middle = [goals[q][len(goals[q]) // 2] for q in grid.main_yardsticks if q in goals]
    for goal in asked:
        goals[goal.quantity] = [*goals.get(goal.quantity, []), goal]
    sections = [_overview(grid, axis, log), _scores(grid, pairs), _curves(grid, log)]
    sections += [_convergence(grid, pairs, goals, missing, {g.quantity for g in asked}, axis)]
    sections += [_density(grid), _losses(grid), *_factors(grid), _pairing(pairs), _runs(grid)]
    summary = summarise(grid, pairs, [*middle, *asked], axis)
    return Document(grid.title, summary, _alerts(grid, pairs), sections)


def _alerts(grid: Grid, pairs: Sequence[Comparison]) -> list[str]:
    alerts = [f"Refused: {pair.refusal}" for pair in pairs if pair.refusal is not None]
    open_cells = [cell for cell in grid.cells if not cell.finished]
    if open_cells:
        alerts.append("Not finished: " + "; ".join(f"{c.name}: {c.progress}" for c in open_cells) + ".")
    for cell in open_cells:
        if cell.state.state == "failed":
            log = cell.state.log or cell.directory / "log.txt"
            alerts.append(f"{cell.name} failed: {cell.state.error or 'no error recorded'} (log: {log})")
    budgets = sorted({cell.budget_tokens for cell in grid.cells if cell.budget_tokens})
    if len(budgets) > 1:
        shown = ", ".join(f"{budget:,}" for budget in budgets)
        alerts.append(f"The runs have different budgets ({shown} tokens), so final scores are not at equal budgets.")
    return alerts


def _overview(grid: Grid, axis: str, log: bool) -> Section:
    section = Section("overview", "Overview", [HOW])
    section.draw(figures_curves.overview(grid, axis, log))
    return section


def _scores(grid: Grid, pairs: Sequence[Comparison]) -> Section:
    section = Section(
        "scores",
        "Final scores",
        ["Scores that every objective can be measured by, at the end of finished runs."],
    )
    quantities = grid.yardsticks
    if not quantities:
        section.text = ["No run has recorded a score that both objectives can be measured by."]
        return section
    known = [(q, grid.chance(q)) for q in quantities]
    floors = [f"{label(q)} {floor:.3f}" for q, floor in known if floor is not None]
    if floors:
        section.text.append(f"A model that knows nothing scores: {'; '.join(floors)}.")
    caption = "Final scores, mean over finished seeds [95 % t-interval]."
    section.tables.append(tables_scores.final_scores(grid, quantities, "final_scores", caption))
    section.tables.append(tables_scores.scores_by_seed(grid, [*quantities, *rates(grid.quantities)]))
    if pairs:
        caption = "Paired differences of final scores, mean over seeds [95 % t-interval]."
        section.tables.append(tables_scores.differences(pairs, quantities, "final_differences", caption))
    section.draw(figures_scores.final_scores(grid, quantities))
    return section


def _curves(grid: Grid, log: bool) -> Section:
    section = Section("curves", "Learning curves")
    for quantity in grid.yardsticks:
        section.draw(figures_curves.yardstick(grid, quantity, log))
    if not section.drawings:
        section.text = ["No yardstick has been recorded yet."]
    return section


def _convergence(
    grid: Grid,
    pairs: Sequence[Comparison],
    goals: dict[str, list[Threshold]],
    missing: list[str],
    asked: set[str],
    axis: str,
) -> Section:
    section = Section("convergence", "Convergence speed", list(missing))
    main = {q: found for q, found in goals.items() if q in grid.main_yardsticks or q in asked}
    shown, everything = ([goal for found in some.values() for goal in found] for some in (main, goals))
    section.text.insert(
        0,
        f"Budget ({AXES[axis].label} unless said otherwise) at the first crossing of a run's running best,"
        " interpolated linearly in log budget between two snapshots. The CSV files hold every axis and "
        "every seed.",
    )
    if shown:
        section.tables.append(tables_convergence.budgets(grid, shown, [axis], "budgets", True))
        section.tables.append(tables_convergence.budgets(grid, everything, list(AXES), "budgets_all_axes", False))
        section.tables.append(tables_convergence.budgets_by_seed(grid, everything))
        section.draw(figures_convergence.budgets(grid, main, axis))
    if pairs and shown:
        section.tables.append(tables_convergence.ratios(pairs, shown))
        comparable = {q: found for q, found in main.items() if q in grid.yardsticks or q in rates([q])}
        section.draw(figures_convergence.ratios(pairs, comparable, grid))
    if pairs and grid.main_yardsticks:
        section.tables.append(tables_convergence.lead(pairs, grid.main_yardsticks, axis))
        section.tables.append(tables_convergence.lead_by_seed(pairs, grid.yardsticks))
    if {"CLM", "MLM"} <= {arm.objective for arm in grid.arms}:
        section.tables.append(
            tables_factors.published(OBJECTIVE, "published_objective", "training steps", lambda k: f"{k[0]:g} thousand")
        )
    return section


def _density(grid: Grid) -> Section:
    section = Section("density", "Supervision density", tables=[tables_scores.densities(grid)])
    section.text = ["How many of the tokens read are also asked, as planned and as it came out, and at what cost."]
    section.draw(figures_scores.densities(grid))
    return section


def _losses(grid: Grid) -> Section:
    section = Section("losses", "Own losses")
    section.draw(figures_curves.own_losses(grid))
    section.draw(figures_curves.common_rates(grid))
    if not section.drawings:
        section.text = ["No loss has been recorded yet."]
    return section


def _factors(grid: Grid) -> list[Section]:
    sections = []
    pairs, baseline = against_baseline(grid), grid.baseline()
    quantities = [*grid.main_yardsticks, *rates(grid.quantities)]
    for factor in tables_factors.FACTORS:
        arms = factor.arms(grid)
        if not arms or not quantities:
            continue
        section = Section(factor.name.replace("_", "-"), f"By {factor.title}")
        section.tables.append(tables_factors.scores(factor, arms, quantities))
        if baseline is None:
            section.alerts.append("No arm has 15 % masked, 80/10/10, and the grid names no baseline: no differences.")
        else:
            section.alerts += [f"Refused: {pair.refusal}" for pair in pairs if pair.refusal is not None]
            section.tables.append(tables_factors.differences(factor, arms, pairs, quantities))
        section.tables.append(
            tables_factors.published(factor.published, f"published_{factor.name}", factor.title, factor.text)
        )
        if factor.name == "mask_rate":
            section.draw(figures_scores.by_mask_rate(grid, arms, quantities))
        sections.append(section)
    return sections


def _pairing(pairs: Sequence[Comparison]) -> Section:
    section = Section("pairing", "Pairing")
    if not pairs:
        section.text = ["Nothing is compared, so nothing has to be paired."]
    for pair in pairs:
        names = f"{pair.arm.name} and {pair.reference.name}"
        if pair.refusal is not None:
            section.alerts.append(f"Refused: {pair.refusal}")
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
    return Section("runs", "Runs", tables=[tables_scores.runs(grid)])
