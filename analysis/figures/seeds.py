"""How seeds are drawn: as curves with their mean and interval over a budget, or as dots with theirs in a row."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator

from analysis.figures.arm_styles import ArmStyle
from analysis.figures.style import GREY, plain
from analysis.records.labels import AXES
from analysis.records.run_records import Arm
from analysis.statistics.curves import Curve, MeanCurve, curves_by_seed, mean_curve
from analysis.statistics.intervals import Interval
from analysis.tables.table import si
from experiments.records.quantities import Quantity


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
    values: list[float] = []
    shade = 0.16 if len(curves) <= 3 else 0.06
    for name, seeds in curves.items():
        for curve in seeds:
            values += _draw_seed(ax, curve, styles[name], log, log_y)
        mean = mean_curve(seeds, log_y)
        if mean is not None:
            _draw_mean(ax, mean, styles[name], log, marks, shade)
    if values and log_y:
        _log_values(ax, min(values), max(values))
    elif values:
        margin = 0.08 * (max(values) - min(values)) or 0.05
        ax.set_ylim(min(values) - margin, max(values) + margin)
    budget_axis(ax, axis, log and bool(values))
    return bool(values)


def _draw_seed(ax: Axes, curve: Curve, style: ArmStyle, log: bool, log_y: bool) -> list[float]:
    """Returns the values drawn."""
    keep = (curve.x > 0 if log else np.ones(curve.x.size, dtype=bool)) & ((curve.y > 0) | (not log_y))
    line, lone = style.line if curve.finished else ":", "." if keep.sum() == 1 else ""
    ax.plot(curve.x[keep], curve.y[keep], color=style.color, lw=0.8, ls=line, alpha=0.7, marker=lone)
    return curve.y[keep].tolist()


def _draw_mean(ax: Axes, mean: MeanCurve, style: ArmStyle, log: bool, marks: bool, shade: float) -> None:
    keep = mean.x > 0 if log else np.ones(mean.x.size, dtype=bool)
    x = mean.x[keep]
    if mean.low is not None and mean.high is not None:
        # The interval of two seeds is so wide (t = 12.7) that it would be all one sees.
        alpha = shade if mean.n > 2 else shade / 2
        ax.fill_between(x, mean.low[keep], mean.high[keep], color=style.color, alpha=alpha, lw=0)
    marker = style.marker if marks and not mean.interpolated and x.size <= 20 else ""
    ax.plot(x, mean.mean[keep], color=style.color, ls=style.line, marker=marker)


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


def _log_values(ax: Axes, low: float, high: float) -> None:
    """A log y-axis with plain labels at 1, 2 and 5."""
    margin = (high / low) ** 0.06 if high > low else 1.2
    ax.set_yscale("log")
    ax.set_ylim(low / margin, high * margin)
    ax.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0), numticks=20))
    ax.yaxis.set_minor_locator(NullLocator())
    ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))


def draw_dots(ax: Axes, values: Sequence[float], mean: Interval | None, y: float, style: ArmStyle) -> None:
    """Seeds as small open dots, the mean as the arm's marker with its interval, all at height y."""
    ax.plot(values, [y] * len(values), ls="", marker="o", ms=4, mfc="none", mec=style.color, alpha=0.7)
    if mean is None:
        return
    if mean.low is not None and mean.high is not None:
        ax.plot([mean.low, mean.high], [y, y], color=style.color, lw=1.6, solid_capstyle="butt")
    ax.plot([mean.mean], [y], ls="", marker=style.marker, ms=6.5, color=style.color, mec="white", mew=0.6)


def name_rows(ax: Axes, names: Sequence[str]) -> None:
    """Names on the y-axis, the first on top."""
    ax.set_yticks(range(len(names)), [plain(name) for name in names])
    ax.set_ylim(len(names) - 0.5, -0.5)
    ax.grid(False, axis="y")


def seed_handle() -> Line2D:
    """Entry of a legend for the open dots."""
    return Line2D([], [], ls="", marker="o", ms=4, mfc="none", mec=GREY, label="one seed")
