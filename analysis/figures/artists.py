"""Many lines, marks and areas drawn as few artists: matplotlib takes as long for an artist as for a hundred places."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from numpy.typing import ArrayLike

from analysis.records.run_records import Array

GAP = np.full((1, 2), np.nan)
"""Breaks a line."""


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
