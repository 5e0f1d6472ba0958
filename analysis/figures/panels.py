"""Panels of a figure: where they stand, what is drawn in them, and their ticks. All is drawn as few artists: matplotlib
takes as long for one as for a hundred places."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.collections import PolyCollection
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.lines import Line2D
from matplotlib.textpath import text_to_path
from numpy.typing import ArrayLike

from analysis.records.run_records import Array

FONT = 9
"""Size of text."""
GREY, FAINT = "#666666", "#E3E3E3"
LEFT, RIGHT, TOP, BOTTOM = 0.85, 0.15, 0.3, 0.5
"""Inches around the frame of a panel, for its ticks, labels and title. Margins that are fixed take no time to find."""
TICK, PAD, TEXT = 0.04, 0.08, 0.13
"""Inches of the mark of a tick, from the frame to its label, and of a line of text."""
GAP = np.full((1, 2), np.nan)
"""Breaks a line."""


def panels(
    count: int,
    columns: int,
    width: float = 3.7,
    height: float = 2.7,
    left: Sequence[float] = (),
    right: Sequence[float] = (),
    top: float = TOP,
) -> tuple[Figure, list[Axes]]:
    """A figure of `count` panels, row by row, at most `columns` in each; sizes in inches a panel with usual margins.

    left, right: other margins, column by column; frames stay as wide as they are. top: that of every panel, within its
    height.
    """
    columns = min(count, columns)
    lefts, rights = list(left) or [LEFT] * columns, list(right) or [RIGHT] * columns
    frame, tall = width - LEFT - RIGHT, height * -(-count // columns)
    starts = [sum(lefts[: i + 1]) + sum(rights[:i]) + frame * i for i in range(columns)]
    whole = starts[-1] + frame + rights[columns - 1]
    figure = Figure(figsize=(whole, tall))
    for i in range(count):
        bottom = tall - height * (i // columns + 1) + BOTTOM
        place = (starts[i % columns] / whole, bottom / tall, frame / whole, (height - top - BOTTOM) / tall)
        figure.add_axes(place)
    return figure, figure.axes


def add_below(figure: Figure, inches: float) -> None:
    """Let a figure grow downwards, below its panels."""
    old = figure.get_figheight()
    new = old + inches
    figure.set_figheight(new)
    for ax in figure.axes:
        x, y, width, height = ax.get_position().bounds
        ax.set_position((x, (y * old + inches) / new, width, height * old / new))


def text_width(texts: Iterable[str]) -> float:
    """Inches of the longest of some texts."""
    return max(map(_width, texts), default=0.0)


@lru_cache(maxsize=10_000)
def _width(text: str) -> float:
    return text_to_path.get_text_width_height_descent(text, FontProperties(size=FONT), False)[0] / 72


def explain_empty(ax: Axes, why: str) -> None:
    """Say in the panel why there is nothing in it."""
    ax.text(0.5, 0.5, why, transform=ax.transAxes, ha="center", va="center", color=GREY)
    ax.set_xticks([])
    ax.set_yticks([])


@dataclass(frozen=True)
class Stroke:
    """A line through (n, 2) places, or marks at them."""

    places: ArrayLike
    color: str
    line: Any = "-"
    marker: str = ""


def draw_strokes(ax: Axes, strokes: Iterable[Stroke], **look: Any) -> None:
    """Those of one colour, line and marker are one artist; `look` is what else a Line2D takes, the same for all."""
    alike: dict[tuple[Any, ...], list[ArrayLike]] = {}
    for stroke in strokes:
        if np.size(stroke.places):
            alike.setdefault((stroke.color, stroke.line, stroke.marker), []).extend((stroke.places, GAP))
    for (color, line, marker), parts in alike.items():
        x, y = np.concatenate(parts).T
        ax.plot(x, y, color=color, ls=line, marker=marker, **look)


def draw_bands(ax: Axes, bands: Sequence[tuple[Array, Array, Array, Any]]) -> None:
    """Areas between two curves, by x, low, high and colour, with gaps where either is not known. They widen no axis."""
    outlines, colors = [], []
    for x, low, high, color in bands:
        known = np.flatnonzero(np.isfinite(low) & np.isfinite(high))
        for run in np.split(known, np.flatnonzero(np.diff(known) > 1) + 1):
            if run.size > 1:
                outlines.append(np.vstack([np.c_[x[run], low[run]], np.c_[x[run], high[run]][::-1]]))
                colors.append(color)
    ax.add_collection(PolyCollection(outlines, facecolors=colors, lw=0), autolim=False)


def draw_ticks(ax: Axes) -> None:
    """Put grid, ticks and labels in the place of matplotlib's own axes, which take longer to draw than all else in a
    figure: they have five artists for each tick. To be called when nothing changes any more."""
    figure, place = ax.figure, ax.get_position()
    if not ax.axison or not isinstance(figure, Figure):
        return
    wide, tall = place.width * figure.get_figwidth(), place.height * figure.get_figheight()
    (x, x_labels), (y, y_labels) = _shown(ax, ax.xaxis), _shown(ax, ax.yaxis)
    columns, rows = x if _has_grid(ax.xaxis) else [], y if _has_grid(ax.yaxis) else []
    grid = [*(((at, 0), (at, 1)) for at in columns), *(((0, at), (1, at)) for at in rows)]
    marks = [*(((at, 0), (at, -TICK / tall)) for at in x), *(((0, at), (-TICK / wide, at)) for at in y)]
    _draw(ax, grid, color=FAINT, lw=0.6, zorder=0.5)
    _draw(ax, marks, color="black", lw=0.8, clip_on=False)
    for at, label in zip(x, x_labels, strict=True):
        ax.text(at, -PAD / tall, label, transform=ax.transAxes, ha="center", va="top")
    for at, label in zip(y, y_labels, strict=True):
        ax.text(-PAD / wide, at, label, transform=ax.transAxes, ha="right", va="center_baseline")
    below, beside = -(2 * PAD + TEXT) / tall, -(2 * PAD + text_width(y_labels)) / wide
    ax.text(0.5, below, ax.get_xlabel(), transform=ax.transAxes, ha="center", va="top")
    ax.text(beside, 0.5, ax.get_ylabel(), transform=ax.transAxes, ha="right", va="center", rotation=90)
    ax.xaxis.set_visible(False)
    ax.yaxis.set_visible(False)


def _draw(ax: Axes, lines: Sequence[tuple[tuple[float, float], ...]], **look: Any) -> None:
    """Straight lines in shares of the frame, as one artist."""
    x, y = zip(*(place for ends in lines for place in (*ends, (np.nan, np.nan))), strict=True) if lines else ((), ())
    ax.add_artist(Line2D(x, y, transform=ax.transAxes, **look))


def _has_grid(axis: Axis) -> bool:
    return bool(axis.get_tick_params()["gridOn"])


def _shown(ax: Axes, axis: Axis) -> tuple[list[float], list[str]]:
    """Where the ticks of an axis within the frame stand, from 0 to 1, and their labels."""
    values = [float(value) for value in axis.get_majorticklocs()]
    formatter = axis.get_major_formatter()
    labels = formatter.format_ticks(values)
    power = formatter.get_offset().removeprefix("1")  # "e−7", which matplotlib writes once beside the axis
    i = int(axis is ax.yaxis)
    places = np.tile([ax.get_xlim()[0], ax.get_ylim()[0]], (len(values), 1))
    places[:, i] = values
    found = (ax.transScale + ax.transLimits).transform(places)[:, i].tolist()
    inside = [(at, label + power) for at, label in zip(found, labels, strict=True) if -1e-6 <= at <= 1 + 1e-6]
    return [at for at, _ in inside], [label for _, label in inside]
