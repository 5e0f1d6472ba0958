"""The sections on the factors that arms vary, and what the summary says of them."""

from __future__ import annotations

from analysis.figures.factor_curves import factor_curves_figure
from analysis.figures.heat_map import heat_map_figure
from analysis.records.factors import Factor, Setting, varying_factors
from analysis.records.labels import bracketed, with_unit
from analysis.records.results import Results
from analysis.records.run_records import Missing
from analysis.sections.document import Section
from analysis.statistics.factor_effects import Best, Line, best_setting, interactions, lines, surfaces
from analysis.tables.factors import (
    best_settings_table,
    factor_differences_table,
    factor_scores_table,
    interactions_table,
    published_table,
    settings_text,
)
from analysis.tables.published import BY_FACTOR
from experiments.records.quantities import Quantity

FEW = 4
"""The best settings of up to this many lines have a sentence in the summary."""


def factor_sections(group: Results) -> list[Section]:
    """Everything about the factors of one data group; nothing where no score can be compared."""
    quantities, factors = _quantities(group), varying_factors(group)
    if not quantities:
        return []
    sections = [_factor(group, factors, factor, quantities) for factor in factors if not _is_treatment(group, factor)]
    if crossed := surfaces(group, factors):
        section = Section("surfaces", "By two numbers at once")
        for surface in crossed:
            section.add_drawing(heat_map_figure(group, surface, group.headline_metrics or quantities))
        sections.append(section)
    if found := interactions(group, factors):
        text = "Whether the effect of one factor depends on another; all others are equal in the arms compared."
        if not (table := interactions_table(found, quantities)).shown:
            text += f" The {len(found)} interactions are in tables/{table.name}.csv."
        sections.append(Section("interactions", "Interactions", [text], tables=[table]))
    return sections


def best_sentences(group: Results) -> list[str]:
    """The best setting of each numeric factor by each headline metric."""
    factors = varying_factors(group)
    found = []
    for factor in factors:
        compared = lines(group, factors, factor)
        if factor.numeric and 0 < len(compared) <= FEW:
            found += [_best_sentence(factor, compared, quantity) for quantity in group.headline_metrics]
    return [sentence for sentence in found if sentence]


def _best_sentence(factor: Factor, compared: list[Line], quantity: Quantity) -> str:
    found = [(line.name, best_setting(line.arms, quantity)) for line in compared]
    best = {name: _best_text(factor, one) for name, one in found if not isinstance(one, Missing)}
    if not best:
        return ""
    if len(compared) == 1:
        ((name, text),) = best.items()
        return f"Best {factor.name} for {name} by {with_unit(quantity)}: {text}."
    each = "; ".join(f"{bracketed(name)} {text}" for name, text in best.items())
    return f"Best {factor.name} by {with_unit(quantity)}: {each}."


def _best_text(factor: Factor, best: Best[Setting]) -> str:
    """`30 % (not distinguishable from: 15 %; 50 %)`."""
    notes = [f"not distinguishable from: {settings_text(factor, best.alike)}"] if best.alike else []
    if best.score.n == 1:
        notes = ["one seed, no interval"]
    if best.unknown:
        notes.append(f"no final score yet at: {settings_text(factor, best.unknown)}")
    return f"{factor.text(best.setting)} ({'; '.join(notes)})" if notes else factor.text(best.setting)


def _quantities(group: Results) -> list[Quantity]:
    return [quantity for quantity in group.shared_metrics if quantity.headline or not group.answered_by_all(quantity)]


def _is_treatment(group: Results, factor: Factor) -> bool:
    """Whether all that a factor would add stands among the final scores: a category that is the axis of references."""
    named = (group.references.axis or "").replace("_", " ")
    return not factor.numeric and factor.is_axis and factor.name == named


def _factor(group: Results, factors: list[Factor], factor: Factor, quantities: list[Quantity]) -> Section:
    compared = lines(group, factors, factor)
    section = Section(factor.slug.replace("_", "-"), f"By {factor.name}")
    section.tables.append(factor_scores_table(group, factor, quantities))
    if compared:
        pairs = [pair for line in compared for pair in line.comparisons]
        section.alerts = [f"Refused: {pair.refusal}" for pair in pairs if pair.refusal is not None]
        section.tables.append(factor_differences_table(factor, compared, quantities))
    else:
        section.text = [f"No two arms differ by {factor.name} alone, so nothing is compared by it."]
    if compared and factor.numeric:
        section.tables.append(best_settings_table(factor, compared, quantities))
        section.add_drawing(factor_curves_figure(group, factor, compared, quantities))
    if published := BY_FACTOR.get(factor.name):
        section.tables.append(published_table(published, f"published_{factor.slug}", factor.name, factor.text))
    return section
