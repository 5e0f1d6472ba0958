"""Level lines that scores are read against: chance, and the Bayes accuracies of a probe."""

from __future__ import annotations

from typing import Any

from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from analysis.figures.style import GREY
from analysis.records.results import Results
from analysis.statistics.bayes_accuracy import CONTEXTS, BayesAccuracies, bayes_accuracies_of

DARK = "#333333"
DOTTED: Any = (0, (1, 2))
LINES: dict[str, Any] = {"token": DOTTED, "past": (0, (5, 2)), "both": "-"}
LABEL = 7.5
"""Font size of names beside the frame."""


def draw_reference_lines(ax: Axes, group: Results, quantity: str, vertical: bool = False) -> None:
    """The Bayes accuracies of a quantity where they are known, else chance; the panel grows to hold them."""
    known, chance = bayes_accuracies_of(group, quantity), group.chance(quantity)
    draw, limits, widen = (ax.axvline, ax.get_xlim, ax.set_xlim) if vertical else (ax.axhline, ax.get_ylim, ax.set_ylim)
    low, high = limits()
    if known is not None:
        margin = 0.04 * (max(high, known.both) - min(low, known.token))
        for context, _, value in known.labelled:
            draw(value, color=DARK, lw=1.1, ls=LINES[context], zorder=1.5)
        widen(min(low, known.token - margin), max(high, known.both + margin))
    elif chance is not None:
        draw(chance, color=GREY, lw=1, ls=DOTTED)
        margin = 0.05 * (max(high, chance) - min(low, chance))
        widen(chance - margin if chance < low else low, chance + margin if chance > high else high)


def has_chance_line(group: Results, quantity: str) -> bool:
    """Whether `draw_reference_lines` draws chance."""
    return group.chance(quantity) is not None and bayes_accuracies_of(group, quantity) is None


def reference_handles(group: Results, *quantities: str) -> list[Line2D]:
    """Entries of a legend for the lines drawn for some quantities."""
    handles = [chance_handle()] if any(has_chance_line(group, q) for q in quantities) else []
    if any(bayes_accuracies_of(group, q) is not None for q in quantities):
        lines = CONTEXTS.items()
        handles += [Line2D([], [], color=DARK, lw=1.1, ls=LINES[context], label=words) for context, words in lines]
    return handles


def chance_handle() -> Line2D:
    return Line2D([], [], color=GREY, lw=1, ls=DOTTED, label="chance or majority class")


def label_bayes_accuracies(ax: Axes, known: BayesAccuracies) -> None:
    """Name the lines to the right of the frame, clear of the curves; close ones are moved apart."""
    low, high = ax.get_ylim()
    beside, place = float("-inf"), ax.get_yaxis_transform()
    for _, words, value in known.labelled:
        beside = max(value, beside + 0.17 * (high - low))
        ax.annotate(
            words.replace(": ", ":\n").replace(" for ", " for\n"),
            xy=(1, value),
            xytext=(1.03, beside),
            xycoords=place,
            textcoords=place,
            va="center",
            fontsize=LABEL,
            color=DARK,
            annotation_clip=False,
            arrowprops={"arrowstyle": "-", "color": DARK, "lw": 0.6, "shrinkA": 0, "shrinkB": 0},
        )
