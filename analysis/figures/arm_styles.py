"""How each arm is drawn in all figures, and the legend that says so."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from analysis.figures.panels import add_below, text_width
from analysis.figures.style import plain
from analysis.records.results import Results
from analysis.records.run_records import Arm

# Okabe and Ito 2008, "Color Universal Design"; their yellow is left to the last, it is faint on white.
BLUE, VERMILION = "#0072B2", "#D55E00"
OTHERS = ("#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000", "#7F7F7F", "#B8A800")
MARKERS = ("s", "^", "D", "v", "p", "X", "h", "*")
ROW, SAMPLE, SPACE = 0.19, 0.4, 0.2
"""Inches of a row of a legend, of the sample of a line, and between a text and what follows."""


@dataclass(frozen=True)
class ArmStyle:
    """How one arm is drawn everywhere: causal arms solid, all others dashed."""

    color: str
    line: str
    marker: str
    name: str


def arm_styles(results: Results) -> dict[str, ArmStyle]:
    """A style for each arm: the reference blue, the first compared with it vermilion, others in the order planned.

    Arms of one name in several data groups are drawn alike in all of them.
    """
    roles: dict[str, set[str]] = {}
    causal: dict[str, bool] = {}
    for group in (results.whole or results).data_groups:
        first = group.references.first if group.arms else None
        second = next((arm for arm in group.arms if group.reference(arm) is first), None)
        for arm in group.arms:
            role = "first" if arm is first else "second" if arm is second else "other"
            roles.setdefault(arm.name, set()).add(role)
            causal.setdefault(arm.name, arm.is_causal)
    styles: dict[str, ArmStyle] = {}
    others = 0
    for name, played in roles.items():
        if played == {"first"}:
            color, marker = BLUE, "o"
        elif played == {"second"}:
            color, marker = VERMILION, MARKERS[0]
        else:
            color, marker = OTHERS[others % len(OTHERS)], MARKERS[1 + others % (len(MARKERS) - 1)]
            others += 1
        styles[name] = ArmStyle(color, "-" if causal[name] else "--", marker, plain(name))
    return styles


def row_names(arms: Sequence[Arm]) -> list[str]:
    """Names of arms beside their rows, with the number of seeds behind each mean; a legend need not name them again."""
    return [f"{plain(arm.name, 28)} ({_seeds(arm)})" for arm in arms]


def _seeds(arm: Arm) -> str:
    finished = sum(run.finished for run in arm.runs)
    return f"n = {finished}" if finished else f"n = {sum(bool(run.series) for run in arm.runs)}, unfinished"


def draw_legend(figure: Figure, arms: Sequence[Arm], results: Results, extra: Sequence[Line2D] = ()) -> None:
    """One legend below the panels: arms with the number of seeds behind each mean, and `extra` entries.

    Arms of one name in several data groups have one entry, and so have equal extra ones.
    """
    counts: dict[str, dict[str, None]] = {}
    for arm in arms:
        counts.setdefault(arm.name, {})[_seeds(arm)] = None
    styles = arm_styles(results)
    handles = []
    for name, found in counts.items():
        style, n = styles[name], " and ".join(found)
        label = f"{style.name} ({n})"
        handles.append(Line2D([], [], color=style.color, ls=style.line, marker=style.marker, label=label))
    handles += {str(handle.get_label()): handle for handle in extra}.values()
    place_legend(figure, handles)


def place_legend(figure: Figure, handles: Sequence[Line2D]) -> None:
    """A legend below the panels, in as many columns as the width holds. A large one of matplotlib's own takes longer to
    draw than the panels."""
    column = SAMPLE + 2 * SPACE + text_width([str(handle.get_label()) for handle in handles])
    columns = max(1, min(len(handles), int((figure.get_figwidth() - SPACE) / column)))
    rows = -(-len(handles) // columns)
    add_below(figure, ROW * (rows + 1))
    left = max(SPACE, (figure.get_figwidth() - column * -(-len(handles) // rows)) / 2)
    for i, handle in enumerate(handles):
        x, y = left + column * (i // rows), ROW * (rows - i % rows)
        handle.set(data=([x, x + SAMPLE / 2, x + SAMPLE], [y] * 3), markevery=[1], transform=figure.dpi_scale_trans)
        figure.add_artist(handle)
        text, across = str(handle.get_label()), figure.dpi_scale_trans
        figure.text(x + SAMPLE + SPACE / 2, y, text, transform=across, va="center_baseline")
