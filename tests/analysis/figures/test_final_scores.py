from analysis.figures.final_scores import mask_rate_figure
from analysis.figures.style import figure_style
from analysis.tables.factors import FACTORS
from tests.support.declarations import declaration


def test_arms_without_a_mask_rate_are_level_lines(three_objectives):
    arms = FACTORS[0].arms(three_objectives)
    with figure_style():
        drawing = mask_rate_figure(three_objectives, arms, [declaration("word_swap/accuracy")])
    assert drawing is not None and drawing.caption.endswith("arms without a mask rate: clm; prefix, half.")
    (ax,) = drawing.figure.axes
    levels = [line for line in ax.lines if len(line.get_ydata()) == 2 and len(set(line.get_ydata())) == 1]
    assert [line.get_linestyle() for line in levels] == ["-", "--"]
