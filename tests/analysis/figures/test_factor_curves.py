from analysis.figures.factor_curves import factor_curves_figure
from analysis.figures.style import figure_style
from analysis.records.factors import varying_factors
from analysis.statistics.factor_effects import lines
from tests.support.declarations import declaration
from tests.support.drawn import legend, pieces
from tests.support.effects import crossed_grid

WORD_SWAP = declaration("word_swap/accuracy")


def draw(group, name, quantities=(WORD_SWAP,)):
    factors = varying_factors(group)
    factor = next(one for one in factors if one.name == name)
    with figure_style():
        return factor_curves_figure(group, factor, lines(group, factors, factor), quantities)


def test_arms_without_the_factor_are_level_lines(three_objectives):
    drawing = draw(three_objectives, "mask rate")
    assert drawing is not None and drawing.name == "mask-rate"
    assert drawing.caption.endswith("arms without a mask rate: clm; prefix, half.")
    (ax,) = drawing.figure.axes
    levels = [line for line, places in pieces(ax) if len(places) == 2 and len(set(places[:, 1])) == 1]
    assert [line.get_linestyle() for line in levels] == ["-", "--"]
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["15 %", "30 %", "50 %"]
    assert ax.get_xscale() == "linear"


def test_a_curve_for_each_line_and_a_log_axis_over_decades(builder):
    drawing = draw(crossed_grid(builder, rates=(0.0001, 0.001, 0.01)), "learning rate")
    (ax,) = drawing.figure.axes
    assert ax.get_xscale() == "log"
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["0.0001", "0.001", "0.01"]
    assert [text.get_text() for text in legend(drawing.figure)] == [
        "width 64; clm",
        "width 64; mlm",
        "width 128; clm",
        "width 128; mlm",
        "one seed",
    ]
    assert sum(len(places) == 3 and len(set(places[:, 0])) == 3 for _, places in pieces(ax)) == 4


def test_nothing_is_drawn_where_nothing_has_finished(builder):
    assert draw(crossed_grid(builder, tokens=5_000, state="interrupted"), "width") is None
