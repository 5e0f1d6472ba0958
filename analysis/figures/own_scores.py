"""Figures of what an arm scores on the question of its own objective: only arms of equal questions share a panel."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import wrap

from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import NullFormatter

from analysis.figures.arm_styles import arm_styles, draw_legend
from analysis.figures.learning_curves import arms_with
from analysis.figures.levels import draw_levels
from analysis.figures.panels import TEXT, TOP, explain_empty, panels
from analysis.figures.seeds import curves_by_arm, draw_curves
from analysis.figures.style import Drawing, plain
from analysis.records.labels import unit_and_direction
from analysis.records.results import Results
from experiments.records.quantities import Quantity

COLUMNS = 4
TITLE = 48
"""Letters of a line of a title that fit over a panel here."""


def own_scores_figure(group: Results, name: str, quantities: Sequence[Quantity]) -> Drawing:
    """A column for each question, as far as there is room, and a row for each quantity; y-axes apart."""
    questions = list(dict.fromkeys(arm.traits.question for arm in group.arms))
    shown = [(quantity, question) for quantity in quantities for question in questions]
    titles = [_title(quantity, question) for quantity, question in shown]
    more = TEXT * max(title.count("\n") for title in titles)
    figure, axes = panels(len(shown), min(len(questions), COLUMNS), width=4.3, height=2.7 + more, top=TOP + more)
    handles: list[Line2D] = []
    for ax, (quantity, question), title in zip(axes, shown, titles, strict=True):
        arms = [arm for arm in group.arms if arm.traits.question == question]
        log_y, curves = quantity.scale == "log", curves_by_arm(arms, quantity, "tokens")
        if draw_curves(ax, curves, arm_styles(group), "tokens", True, marks=False, log_y=log_y):
            handles += draw_levels(ax, group, quantity, arms=arms)
        else:
            explain_empty(ax, "nothing recorded yet")
        ax.set_title(title)
        ax.set_ylabel(unit_and_direction(quantity))
    _label_outer(axes, min(len(questions), COLUMNS))
    draw_legend(figure, arms_with(group, *quantities), group, handles)
    caption = (
        "What each arm scores on the question of its own objective, a panel for each question. Arms in one panel can "
        "be compared, panels cannot: they differ in what is predicted and from which context."
    )
    if len(questions) == 1:
        caption = f"What each arm scores on the one question that all objectives here are trained on: {questions[0]}."
    descriptions = dict.fromkeys(quantity.description for quantity in quantities if quantity.description)
    return Drawing(f"own-{name}", " ".join([caption, *descriptions]), figure)


def _title(quantity: Quantity, question: str) -> str:
    """In two lines at most."""
    whole = plain(f"{quantity.label}: {question}", 10 * TITLE)
    return "\n".join(wrap(whole, TITLE, max_lines=2, placeholder=" …"))


def _label_outer(axes: Sequence[Axes], columns: int) -> None:
    """One range of budgets for all panels, labelled in the lowest of each column alone; and each unit once in a row."""
    drawn = [ax.get_xlim() for ax in axes if ax.lines]
    for i, ax in enumerate(axes):
        if drawn:
            ax.set_xlim(min(low for low, _ in drawn), max(high for _, high in drawn))
        if i + columns < len(axes):
            ax.xaxis.set_major_formatter(NullFormatter())
            ax.set_xlabel("")
        if i % columns and ax.get_ylabel() == axes[i - i % columns].get_ylabel():
            ax.set_ylabel("")
