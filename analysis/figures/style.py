"""The one style of all figures: palette, fonts, legend, and how a figure is saved, byte for byte the same."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
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
from matplotlib.lines import Line2D

from analysis.records.results import Grid
from analysis.records.run_records import Arm

# Okabe and Ito 2008, "Color Universal Design"; their yellow is left to the last, it is faint on white.
BLUE, VERMILION = "#0072B2", "#D55E00"
OTHERS = ("#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000", "#7F7F7F", "#B8A800")
MARKERS = ("s", "^", "D", "v", "p", "X", "h", "*")
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
class Look:
    """How one arm is drawn everywhere: CLM solid, MLM dashed, anything else dash-dotted."""

    color: str
    line: str
    marker: str
    name: str


@dataclass(frozen=True)
class Drawing:
    """A figure with the text that stands below it."""

    name: str
    caption: str
    figure: Figure


@contextmanager
def style() -> Iterator[None]:
    """Draw and save in the one style, whatever the user's own settings are."""
    with matplotlib.rc_context(), warnings.catch_warnings():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(RC)
        # An arm may be named in a script the font lacks; it is then drawn as boxes, and named
        # properly in the text.
        warnings.filterwarnings("ignore", message=r"Glyph .* missing from")
        yield


def looks(grid: Grid) -> dict[str, Look]:
    """A fixed look for each arm: first CLM arm blue, baseline MLM arm vermilion, others in grid order.

    Arms of one name in several families look the same in all of them.
    """
    roles: dict[str, set[str]] = {}
    objectives: dict[str, str] = {}
    for family in (grid.whole or grid).families:
        causal = next((arm for arm in family.arms if arm.objective == "CLM"), None)
        masked = family.baseline() or next((arm for arm in family.arms if arm is not causal), None)
        for arm in family.arms:
            role = "causal" if arm is causal else "masked" if arm is masked else "other"
            roles.setdefault(arm.name, set()).add(role)
            objectives.setdefault(arm.name, arm.objective)
    found: dict[str, Look] = {}
    taken = 0
    for name, played in roles.items():
        if played == {"causal"}:
            color, marker = BLUE, "o"
        elif played == {"masked"}:
            color, marker = VERMILION, MARKERS[0]
        else:
            color, marker = OTHERS[taken % len(OTHERS)], MARKERS[1 + taken % (len(MARKERS) - 1)]
            taken += 1
        found[name] = Look(color, {"CLM": "-", "MLM": "--"}.get(objectives[name], "-."), marker, plain(name))
    return found


def plain(text: str, most: int = 40) -> str:
    """Text that matplotlib does not read as mathematics, on one line, cut after `most` characters."""
    text = " ".join(text.split()).replace("$", r"\$")
    return text if len(text) <= most else text[: most - 1] + "…"


def panels(rows: int, columns: int, width: float = 3.7, height: float = 2.7) -> tuple[Figure, list[Axes]]:
    """A figure of rows × columns panels, row by row; sizes in inches a panel."""
    figure = Figure(figsize=(width * columns, height * rows + 0.45))
    return figure, list(np.ravel(figure.subplots(rows, columns, squeeze=False)))


def save(drawing: Drawing, directory: Path) -> list[Path]:
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


def empty(ax: Axes, why: str) -> None:
    """Say in the panel why there is nothing in it."""
    ax.text(0.5, 0.5, why, transform=ax.transAxes, ha="center", va="center", color=GREY)
    ax.set_xticks([])
    ax.set_yticks([])


def legend(figure: Figure, arms: Sequence[Arm], styles: dict[str, Look], extra: Sequence[Line2D] = ()) -> None:
    """One legend below the panels: arms with the number of seeds behind each mean. Arms of one name, in several
    families, have one entry.
    """
    counts: dict[str, dict[str, None]] = {}
    for arm in arms:
        finished = sum(cell.finished for cell in arm.cells)
        started = sum(bool(cell.series) for cell in arm.cells)
        n = f"n = {finished}" if finished else f"n = {started}, unfinished"
        counts.setdefault(arm.name, {})[n] = None
    handles = []
    for name, found in counts.items():
        look, n = styles[name], " and ".join(found)
        handles.append(Line2D([], [], color=look.color, ls=look.line, marker=look.marker, label=f"{look.name} ({n})"))
    handles += list(extra)
    longest = max((len(str(handle.get_label())) for handle in handles), default=1)
    room = int(figure.get_figwidth() * 13)
    columns = max(1, min(len(handles), room // (longest + 9)))
    figure.legend(handles=handles, loc="outside lower center", ncols=columns)


def reference_line(ax: Axes, value: float, vertical: bool = False) -> None:
    """Where a model that knows nothing would stand."""
    draw = ax.axvline if vertical else ax.axhline
    draw(value, color=GREY, lw=1, ls=(0, (1, 2)))


def chance_handle(text: str = "chance or majority class") -> Line2D:
    return Line2D([], [], color=GREY, lw=1, ls=(0, (1, 2)), label=text)
