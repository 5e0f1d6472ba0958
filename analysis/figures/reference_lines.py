"""A probe's ceilings in a panel: level lines, named beside the frame or in the legend."""

from __future__ import annotations

from typing import Any

from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from analysis.statistics.bayes_accuracy import VIEWS, Ceilings

DARK = "#333333"
STYLES: dict[str, Any] = {"token": (0, (1, 2)), "past": (0, (5, 2)), "both": "-"}
LABEL = 7.5
"""Font size of names beside the frame."""


def levels(ax: Axes, known: Ceilings, vertical: bool = False) -> None:
    """Draw the three lines, and widen the panel to hold them."""
    draw, limits, widen = (ax.axvline, ax.get_xlim, ax.set_xlim) if vertical else (ax.axhline, ax.get_ylim, ax.set_ylim)
    low, high = limits()
    margin = 0.04 * (max(high, known.both) - min(low, known.token))
    for view, _, value in known.labelled:
        draw(value, color=DARK, lw=1.1, ls=STYLES[view], zorder=1.5)
    widen(min(low, known.token - margin), max(high, known.both + margin))


def names(ax: Axes, known: Ceilings) -> None:
    """Name the lines to the right of the frame, clear of the curves; close ones are moved apart."""
    low, high = ax.get_ylim()
    beside, place = float("-inf"), ax.get_yaxis_transform()
    for _, words, value in known.labelled:
        beside = max(value, beside + 0.17 * (high - low))
        ax.annotate(
            words.replace(": ", ":\n").replace(" of any ", " of any\n"),
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


def handles() -> list[Line2D]:
    """Entries of a legend, where the lines are not named in the panel."""
    return [Line2D([], [], color=DARK, lw=1.1, ls=STYLES[view], label=words) for view, words in VIEWS.items()]
