"""Curves of several arms in one panel, over a budget axis with readable ticks."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator

from analysis.figures.style import Look
from analysis.records.quantities import AXES
from analysis.records.run_records import Arm
from analysis.statistics.curves import Line, band, lines
from analysis.tables.table import si


def budget_axis(ax: Axes, axis: str, log: bool) -> None:
    """Label the x-axis with its unit; ticks as 200k, 1M."""
    ax.set_xlabel(AXES[axis].label)
    if log:
        log_ticks(ax)
    else:
        ax.xaxis.set_major_locator(MaxNLocator(5))
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: si(value)))


def log_ticks(ax: Axes) -> None:
    """A log x-axis with labels at 1, 2 and 5 where there is room, and at powers of ten otherwise."""
    ax.set_xscale("log")
    low, high = ax.get_xlim()
    decades = np.log10(high / low) if low > 0 else 9
    subs = (1.0, 2.0, 5.0) if decades < 2 else (1.0, 3.0) if decades < 3 else (1.0,)
    ax.xaxis.set_major_locator(LogLocator(subs=subs, numticks=20))
    ax.xaxis.set_minor_locator(NullLocator())


def draw_curves(
    ax: Axes,
    curves: dict[str, list[Line]],
    styles: dict[str, Look],
    axis: str,
    log: bool,
    marks: bool = True,
    log_y: bool = False,
) -> bool:
    """Every seed as a thin line, the mean thick, its t-interval shaded. Returns whether anything was drawn.

    `curves` are the seeds' by arm. On a log axis what was recorded at budget 0 is not drawn. Thin dotted
    lines are runs that are not finished. The y-range is that of the seeds: an interval over two seeds can
    dwarf the curves. With `log_y` values that are not positive are not drawn.
    """
    values = []
    shade = 0.16 if len(curves) <= 3 else 0.06
    for name, seeds in curves.items():
        look = styles[name]
        for line in seeds:
            keep = (line.x > 0 if log else np.ones(line.x.size, dtype=bool)) & ((line.y > 0) | (not log_y))
            values += line.y[keep].tolist()
            how, lone = look.line if line.finished else ":", "." if keep.sum() == 1 else ""
            ax.plot(line.x[keep], line.y[keep], color=look.color, lw=0.8, ls=how, alpha=0.7, marker=lone)
        mean = band(seeds, log_y)
        if mean is None:
            continue
        keep = mean.x > 0 if log else np.ones(mean.x.size, dtype=bool)
        x = mean.x[keep]
        if mean.low is not None and mean.high is not None:
            # The interval of two seeds is so wide (t = 12.7) that it would be all one sees.
            alpha = shade if mean.n > 2 else shade / 2
            ax.fill_between(x, mean.low[keep], mean.high[keep], color=look.color, alpha=alpha, lw=0)
        marker = look.marker if marks and not mean.interpolated and x.size <= 20 else ""
        ax.plot(x, mean.mean[keep], color=look.color, ls=look.line, marker=marker)
    if values and log_y:
        _log_values(ax, min(values), max(values))
    elif values:
        margin = 0.08 * (max(values) - min(values)) or 0.05
        ax.set_ylim(min(values) - margin, max(values) + margin)
    budget_axis(ax, axis, log and bool(values))
    return bool(values)


def _log_values(ax: Axes, low: float, high: float) -> None:
    """A log y-axis with plain labels at 1, 2 and 5."""
    margin = (high / low) ** 0.06 if high > low else 1.2
    ax.set_yscale("log")
    ax.set_ylim(low / margin, high * margin)
    ax.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0), numticks=20))
    ax.yaxis.set_minor_locator(NullLocator())
    ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))


def curves(arms: Sequence[Arm], quantity: str, axis: str) -> dict[str, list[Line]]:
    """What `draw_curves` draws for one quantity."""
    return {arm.name: lines(arm, quantity, axis) for arm in arms}
