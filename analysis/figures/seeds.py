"""How seeds are drawn: as curves with their mean and interval over a budget, or as dots with theirs in a row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedFormatter, FixedLocator, FuncFormatter, LogLocator, MaxNLocator, NullLocator

from analysis.figures.arm_styles import ArmStyle
from analysis.figures.panels import GREY, Stroke, draw_bands, draw_strokes, panels, text_width
from analysis.figures.style import plain
from analysis.records.labels import AXES
from analysis.records.run_records import Arm
from analysis.statistics.curves import Curve, MeanCurve, curves_by_seed, mean_curve
from analysis.statistics.intervals import Interval
from analysis.tables.table import si
from experiments.records.quantities import Quantity

NARROW = 0.2
"""Inches to the left of a panel whose rows are named elsewhere, or between such names and the edge."""


def curves_by_arm(arms: Sequence[Arm], quantity: Quantity, axis: str) -> dict[str, list[Curve]]:
    """What `draw_curves` draws for one quantity."""
    return {arm.name: curves_by_seed(arm, quantity, axis) for arm in arms}


def draw_curves(
    ax: Axes,
    curves: dict[str, list[Curve]],
    styles: dict[str, ArmStyle],
    axis: str,
    log: bool,
    marks: bool = True,
    log_y: bool = False,
) -> bool:
    """Every seed as a thin line, the mean thick, its interval shaded. Returns whether anything was drawn.

    `curves` are the seeds' by arm. On a log axis what was recorded at budget 0 is not drawn. Thin dotted lines are runs
    that are not finished. The y-range is that of the seeds: an interval over two seeds can dwarf the curves. With
    `log_y` values that are not positive are not drawn.
    """
    values = _draw_seeds(ax, [(curve, styles[name]) for name, found in curves.items() for curve in found], log, log_y)
    means = [(mean_curve(found, log_y), styles[name]) for name, found in curves.items()]
    _draw_means(ax, [(mean, style) for mean, style in means if mean is not None], log, marks)
    if values and log_y:
        log_values(ax, min(values), max(values))
    elif values:
        margin = 0.08 * (max(values) - min(values)) or 0.05
        ax.set_ylim(min(values) - margin, max(values) + margin)
        ax.yaxis.set_major_locator(MaxNLocator(6, steps=[1, 2, 2.5, 5, 10]))
    budget_axis(ax, axis, log and bool(values))
    return bool(values)


def _draw_seeds(ax: Axes, seeds: Sequence[tuple[Curve, ArmStyle]], log: bool, log_y: bool) -> list[float]:
    """Returns the values drawn."""
    strokes, values = [], []
    for curve, style in seeds:
        keep = (curve.x > 0 if log else np.ones(curve.x.size, dtype=bool)) & ((curve.y > 0) | (not log_y))
        line, lone = style.line if curve.finished else ":", "." if keep.sum() == 1 else ""
        strokes.append(Stroke(np.c_[curve.x[keep], curve.y[keep]], style.color, line, lone))
        values += curve.y[keep].tolist()
    draw_strokes(ax, strokes, lw=0.8, alpha=0.7)
    return values


def _draw_means(ax: Axes, means: Sequence[tuple[MeanCurve, ArmStyle]], log: bool, marks: bool) -> None:
    bands, strokes = [], []
    shade = 0.16 if len(means) <= 3 else 0.06
    for mean, style in means:
        keep = mean.x > 0 if log else np.ones(mean.x.size, dtype=bool)
        x = mean.x[keep]
        if mean.low is not None and mean.high is not None:
            # The interval of two seeds is so wide (t = 12.7) that it would be all one sees.
            color = to_rgba(style.color, shade if mean.n > 2 else shade / 2)
            bands.append((x, mean.low[keep], mean.high[keep], color))
        marker = style.marker if marks and not mean.interpolated and x.size <= 20 else ""
        strokes.append(Stroke(np.c_[x, mean.mean[keep]], style.color, style.line, marker))
    draw_bands(ax, bands)
    draw_strokes(ax, strokes)


def budget_axis(ax: Axes, axis: str, log: bool) -> None:
    """Label the x-axis with its unit; ticks as 200k, 1M."""
    ax.set_xlabel(AXES[axis].label)
    if log:
        _log_budgets(ax)
    else:
        ax.xaxis.set_major_locator(MaxNLocator(5))
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: si(value)))


def _log_budgets(ax: Axes) -> None:
    """A log x-axis with labels at 1, 2 and 5 where there is room, and at powers of ten otherwise."""
    ax.set_xscale("log")
    low, high = ax.get_xlim()
    decades = np.log10(high / low) if low > 0 else 9
    subs = (1.0, 2.0, 5.0) if decades < 2 else (1.0, 3.0) if decades < 3 else (1.0,)
    ax.xaxis.set_major_locator(LogLocator(subs=subs, numticks=20))
    ax.xaxis.set_minor_locator(NullLocator())


def log_values(ax: Axes, low: float, high: float, margin: float = 0.06) -> None:
    """A log y-axis with plain labels at 1, 2 and 5."""
    factor = (high / low) ** margin if high > low else 1.2
    ax.set_yscale("log")
    ax.set_ylim(low / factor, high * factor)
    ax.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0), numticks=20))
    ax.yaxis.set_minor_locator(NullLocator())
    ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))


@dataclass(frozen=True)
class Dots:
    """The seeds of one arm in a row at height y, with their mean; bounds are all that is known of further ones."""

    y: float
    style: ArmStyle
    seeds: Sequence[float]
    mean: Interval | None
    at_most: Sequence[float] = ()
    at_least: Sequence[float] = ()

    @property
    def values(self) -> list[float]:
        """All that is drawn of seeds."""
        return [*self.seeds, *self.at_most, *self.at_least]

    def marks(self, values: Sequence[float], marker: str) -> Stroke:
        """Marks at the height of the row."""
        return Stroke([(value, self.y) for value in values], self.style.color, "", marker)


def draw_dots(ax: Axes, rows: Sequence[Dots]) -> None:
    """Seeds as small open dots, the mean as the arm's marker with its interval, bounds as arrows."""
    draw_strokes(ax, [row.marks(row.seeds, "o") for row in rows], ms=4, mfc="none", alpha=0.7)
    means = [(row, row.mean) for row in rows if row.mean is not None]
    bars = [(row, (mean.low, mean.high)) for row, mean in means if mean.low is not None and mean.high is not None]
    strokes = [Stroke([(end, row.y) for end in ends], row.style.color) for row, ends in bars]
    draw_strokes(ax, strokes, lw=1.6, solid_capstyle="butt")
    marks = [row.marks([mean.mean], row.style.marker) for row, mean in means]
    draw_strokes(ax, marks, ms=6.5, mec="white", mew=0.6)
    arrows = [row.marks(bounds, to) for row in rows for bounds, to in ((row.at_most, "<"), (row.at_least, ">"))]
    draw_strokes(ax, arrows, ms=6)


def name_rows(ax: Axes, names: Sequence[str]) -> None:
    """Names on the y-axis, the first on top."""
    ax.yaxis.set_major_locator(FixedLocator(range(len(names))))
    ax.yaxis.set_major_formatter(FixedFormatter([*map(plain, names)]))
    ax.set_ylim(len(names) - 0.5, -0.5)
    ax.grid(False, axis="y")


def beside(names: Sequence[str]) -> float:
    """Inches for the names of rows."""
    return text_width(map(plain, names)) + NARROW


def row_panels(
    names: Sequence[str], count: int, columns: int, width: float, height: float
) -> tuple[Figure, list[Axes]]:
    """Panels with the same rows, which are named in the first column."""
    columns = min(count, columns)
    figure, axes = panels(count, columns, width, height, left=[beside(names), *[NARROW] * (columns - 1)])
    for i, ax in enumerate(axes):
        name_rows(ax, names if i % columns == 0 else [""] * len(names))
    return figure, axes


def seed_handle() -> Line2D:
    """Entry of a legend for the open dots."""
    return Line2D([], [], ls="", marker="o", ms=4, mfc="none", mec=GREY, label="one seed")
