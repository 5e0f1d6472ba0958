"""What is drawn in a figure."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.text import Text
from matplotlib.transforms import Bbox
from numpy.typing import NDArray


def pieces(ax: Axes) -> list[tuple[Line2D, NDArray[np.float64]]]:
    """Each line or row of marks that was drawn, with its (n, 2) places: several may be one artist, apart by gaps."""
    found = []
    for line in ax.lines:
        places = np.asarray(line.get_xydata())
        breaks = np.flatnonzero(np.isnan(places[:, 0]))
        found += [(line, part[~np.isnan(part[:, 0])]) for part in np.split(places, breaks)]
    return [(line, part) for line, part in found if len(part)]


def levels(ax: Axes) -> list[float]:
    """The heights of the level lines."""
    return [part[0, 1] for _, part in pieces(ax) if len(part) == 2 and part[0, 1] == part[1, 1]]


def legend(figure: Figure) -> list[Text]:
    """The entries of the legend."""
    return list(figure.texts)


def legend_box(figure: Figure) -> Bbox:
    """The extent of the legend, once it is saved."""
    return Bbox.union([text.get_window_extent() for text in figure.texts])
