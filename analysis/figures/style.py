"""The one style of all figures, and how a figure is saved, byte for byte the same."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

GREY = "#666666"
RC: Any = {
    "font.family": "DejaVu Sans",
    "font.size": 9,
    "axes.titlesize": 9.5,
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#E3E3E3",
    "grid.linewidth": 0.6,
    "axes.axisbelow": True,
    "legend.frameon": False,
    "legend.handlelength": 3.2,
    "lines.linewidth": 1.8,
    "lines.markersize": 4.5,
    "figure.constrained_layout.use": True,
    "svg.fonttype": "none",
    "svg.hashsalt": "clm-vs-mlm",
    "figure.dpi": 130,
}


@dataclass(frozen=True)
class Drawing:
    """A figure with the text that stands below it."""

    name: str
    caption: str
    figure: Figure


@contextmanager
def figure_style() -> Iterator[None]:
    """Draw and save in the one style, whatever the user's own settings are."""
    with matplotlib.rc_context(), warnings.catch_warnings():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(RC)
        # An arm may be named in a script the font lacks; it is then drawn as boxes, and named properly in the text.
        warnings.filterwarnings("ignore", message=r"Glyph .* missing from")
        yield


def plain(text: str, most: int = 40) -> str:
    """Text that matplotlib does not read as mathematics, on one line, cut after `most` characters."""
    text = " ".join(text.split()).replace("$", r"\$")
    return text if len(text) <= most else text[: most - 1] + "…"


def panels(count: int, columns: int, width: float = 3.7, height: float = 2.7) -> tuple[Figure, list[Axes]]:
    """A figure of `count` panels, row by row, at most `columns` in each; sizes in inches a panel."""
    columns = min(count, columns)
    rows = -(-count // columns)
    figure = Figure(figsize=(width * columns, height * rows + 0.45))
    axes = list(np.ravel(figure.subplots(rows, columns, squeeze=False)))
    for ax in axes[count:]:
        ax.set_axis_off()
    return figure, axes[:count]


def explain_empty(ax: Axes, why: str) -> None:
    """Say in the panel why there is nothing in it."""
    ax.text(0.5, 0.5, why, transform=ax.transAxes, ha="center", va="center", color=GREY)
    ax.set_xticks([])
    ax.set_yticks([])


def save_drawing(drawing: Drawing, directory: Path) -> list[Path]:
    """Write NAME.png and NAME.svg without dates, so that equal data gives equal bytes."""
    paths = [directory / f"{drawing.name}.{suffix}" for suffix in ("png", "svg")]
    # The layout is the slow part: found once, then kept for both files.
    canvas = FigureCanvasAgg(drawing.figure)
    engine = drawing.figure.get_layout_engine()
    if engine is not None:
        engine.execute(drawing.figure)
    drawing.figure.set_layout_engine("none")
    canvas.print_png(paths[0], metadata={"Software": None})
    FigureCanvasSVG(drawing.figure).print_svg(paths[1], metadata={"Date": None, "Creator": None})
    return paths
