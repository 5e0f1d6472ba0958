"""The sections of a report on one family of arms, in the order they are read."""

from __future__ import annotations

from analysis.figures import convergence as figures_convergence
from analysis.figures import excess_loss as figures_calibrated
from analysis.figures import final_scores as figures_scores
from analysis.figures import learning_curves as figures_curves
from analysis.records.quantities import AXES, EXCESS, label, mask_rate_of, rates
from analysis.records.results import Grid
from analysis.sections.document import Section
from analysis.statistics.bayes_accuracy import ceilings
from analysis.statistics.compare import against_baseline
from analysis.statistics.group_comparisons import Findings
from analysis.tables import bayes_loss as tables_calibrated
from analysis.tables import convergence as tables_convergence
from analysis.tables import factors as tables_factors
from analysis.tables import final_scores as tables_scores
from analysis.tables.published import OBJECTIVE


def family_sections(found: Findings, axis: str, log: bool) -> list[Section]:
    """Everything about one family that has recorded anything; arms of another never enter."""
    grid = found.grid
    sections = [*_best_possible(found, log), _scores(found), _curves(grid, log), _convergence(found, axis)]
    return [*sections, _density(grid), _losses(grid), *_factors(grid)]


def _best_possible(found: Findings, log: bool) -> list[Section]:
    grid = found.grid
    if EXCESS not in grid.quantities:
        return []
    section = Section("best-possible", "Beside the best possible")
    section.text = [
        "The rules of this language are known, and so is the lowest possible loss on each question. Losses of "
        "different objectives cannot be compared; their excess over it, in nats per target, can."
    ]
    section.tables.append(tables_calibrated.best_possible(grid, found.pairs))
    section.draw(figures_calibrated.calibrated(grid, log))
    section.draw(figures_calibrated.excess(grid))
    for known in ceilings(grid):
        section.draw(figures_calibrated.probe(grid, known, log))
    return [section]


def _scores(found: Findings) -> Section:
    grid, pairs = found.grid, found.pairs
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
    at_rates = [*rates(grid.quantities, "excess_loss"), *rates(grid.quantities)]
    section.tables.append(tables_scores.scores_by_seed(grid, [*quantities, *at_rates]))
    if pairs:
        caption = "Paired differences of final scores, mean over seeds [95 % t-interval]."
        section.tables.append(tables_scores.differences(pairs, quantities, "final_differences", caption))
    section.draw(figures_scores.final_scores(grid, quantities))
    return section


def _curves(grid: Grid, log: bool) -> Section:
    section = Section("curves", "Learning curves")
    for quantity in grid.yardsticks:
        if quantity == EXCESS:  # drawn beside the best possible
            continue
        section.draw(figures_curves.yardstick(grid, quantity, log))
    if not section.drawings:
        section.text = ["No yardstick has been recorded yet."]
    return section


def _convergence(found: Findings, axis: str) -> Section:
    grid, pairs, goals = found.grid, found.pairs, found.goals
    section = Section("convergence", "Convergence speed", list(found.missing))
    main = {q: some for q, some in goals.items() if q in grid.main_yardsticks or q in found.asked}
    shown, everything = ([goal for some in chosen.values() for goal in some] for chosen in (main, goals))
    section.text.insert(
        0,
        f"Budget ({AXES[axis].label} unless said otherwise) at the first crossing of a run's running best,"
        " interpolated linearly in log budget between two snapshots (of the excess: in its log as well). The CSV files"
        " hold every axis and every seed.",
    )
    if shown:
        section.tables.append(tables_convergence.budgets(grid, shown, [axis], "budgets", True))
        section.tables.append(tables_convergence.budgets(grid, everything, list(AXES), "budgets_all_axes", False))
        section.tables.append(tables_convergence.budgets_by_seed(grid, everything))
        section.draw(figures_convergence.budgets(grid, main, axis))
    if pairs and shown:
        section.tables.append(tables_convergence.ratios(pairs, shown))
        comparable = {q: some for q, some in main.items() if q in grid.yardsticks or mask_rate_of(q) is not None}
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
