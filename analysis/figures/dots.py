"""Seeds as dots with their mean and interval, for every figure that has arms or thresholds on its y-axis."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from analysis.figures.style import GREY, Look, plain
from analysis.statistics.intervals import Interval


def dots(ax: Axes, values: Sequence[float], mean: Interval | None, y: float, look: Look) -> None:
    """Seeds as small open dots, the mean as the arm's marker with its interval, all at height y."""
    ax.plot(values, [y] * len(values), ls="", marker="o", ms=4, mfc="none", mec=look.color, alpha=0.7)
    if mean is None:
        return
    if mean.low is not None and mean.high is not None:
        ax.plot([mean.low, mean.high], [y, y], color=look.color, lw=1.6, solid_capstyle="butt")
    ax.plot([mean.mean], [y], ls="", marker=look.marker, ms=6.5, color=look.color, mec="white", mew=0.6)


def name_rows(ax: Axes, names: Sequence[str]) -> None:
    """Names on the y-axis, the first on top."""
    ax.set_yticks(range(len(names)), [plain(name) for name in names])
    ax.set_ylim(len(names) - 0.5, -0.5)
    ax.grid(False, axis="y")


def seed_handle() -> Line2D:
    return Line2D([], [], ls="", marker="o", ms=4, mfc="none", mec=GREY, label="one seed")
