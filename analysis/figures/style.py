"""The one style of all figures, and how a figure is saved, byte for byte the same."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from analysis.figures.panels import FONT, draw_ticks

RC: Any = {
    "font.family": "DejaVu Sans",
    "font.size": FONT,
    "axes.titlesize": 9.5,
    "axes.titlelocation": "left",
    "axes.titley": 1.0,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.formatter.useoffset": False,
    "legend.frameon": False,
    "legend.handlelength": 3.2,
    "lines.linewidth": 1.8,
    "lines.markersize": 4.5,
    "svg.fonttype": "none",
    "svg.hashsalt": "clm-vs-mlm",
    "figure.dpi": 130,
    # Twice as fast as with hints.
    "text.hinting": "none",
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


def save_drawing(drawing: Drawing, directory: Path) -> list[Path]:
    """Write NAME.png and NAME.svg without dates, so that equal data gives equal bytes."""
    paths = [directory / f"{drawing.name}.{suffix}" for suffix in ("png", "svg")]
    for ax in drawing.figure.axes:
        draw_ticks(ax)
    # Of line drawings level 6, the default, makes files no smaller, and takes half as long again.
    FigureCanvasAgg(drawing.figure).print_png(paths[0], metadata={"Software": None}, pil_kwargs={"compress_level": 2})
    FigureCanvasSVG(drawing.figure).print_svg(paths[1], metadata={"Date": None, "Creator": None})
    return paths
