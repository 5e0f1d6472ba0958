from dataclasses import replace

import pytest
from matplotlib.text import Text

from analysis.figures.learning_curves import by_figure
from analysis.figures.own_scores import own_scores_figure
from analysis.figures.style import figure_style, save_drawing
from analysis.records.read_results import read_results
from tests.support.drawn import legend, levels, pieces
from tests.support.grids import CLM, MLM, minimal


def drawn(group):
    with figure_style():
        return [own_scores_figure(group, name, some) for name, some in by_figure(group.own_scores).items()]


def test_only_arms_of_one_question_share_a_panel(three_objectives):
    (drawing,) = drawn(three_objectives)
    questions = [f"masked tokens ({rate} %, 80/10/10)" for rate in (30, 15, 50)]
    questions += ["next token", "second half of a document"]
    titles = [ax.get_title(loc="left") for ax in drawing.figure.axes if ax.get_title(loc="left")]
    assert titles == [f"{kind} loss: {question}" for kind in ("validation", "training") for question in questions]
    assert "Arms in one panel can be compared, panels cannot" in drawing.caption
    curves = [places for _, places in pieces(drawing.figure.axes[0]) if len(places) == 8]
    assert len(curves) == 2  # one seed and the mean of one arm


def test_a_long_question_has_two_lines_that_fit_into_the_figure(builder, tmp_path):
    question = "masked tokens at all rates above 5 %, as a bound on the log-likelihood"
    builder.run(minimal(CLM), 0)
    builder.run(replace(minimal(MLM), question=question), 0)
    (drawing,) = drawn(read_results(builder.finish()))
    with figure_style():
        save_drawing(drawing, tmp_path)
    titles = [text for ax in drawing.figure.axes for text in ax.findobj(Text) if "loss" in text.get_text()]
    assert [" ".join(text.get_text().split()) for text in titles] == [
        f"validation loss: {name}" for name in ("next token", question)
    ]
    for text in titles:
        box, page = text.get_window_extent(), drawing.figure.bbox
        assert box.x1 <= page.x1 and box.y1 <= page.y1


def test_each_panel_has_the_level_of_its_own_arm(two_data_groups):
    first, second = (drawn(group)[0] for group in read_results(two_data_groups).data_groups)
    for ax, bayes_loss in zip(first.figure.axes, (3.4, 2.9), strict=True):
        (level,) = levels(ax)
        assert level == pytest.approx(bayes_loss) and ax.get_ylim()[0] < bayes_loss
    words = "Bayes loss: bound for any model (by arm)"
    assert words in [text.get_text() for text in legend(first.figure)]
    assert words not in [text.get_text() for text in legend(second.figure)]


def test_budgets_are_labelled_below_each_column_and_are_the_same_in_all_panels(three_objectives):
    (drawing,) = drawn(three_objectives)
    axes = drawing.figure.axes
    assert len({ax.get_xlim() for ax in axes}) == 1 and len(axes) == 10
    assert [i for i, ax in enumerate(axes) if ax.get_xlabel()] == [6, 7, 8, 9]
    assert [i for i, ax in enumerate(axes) if ax.get_ylabel()] == [0, 4, 8]
