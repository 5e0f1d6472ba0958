"""Scores over two numeric factors: what the cells say, and which are marked."""

import math

from analysis.figures.heat_map import heat_map_figure
from analysis.records.factors import varying_factors
from analysis.statistics.factor_effects import surfaces
from tests.support.declarations import declaration
from tests.support.effects import crossed_grid

WORD_SWAP = declaration("word_swap/accuracy")


def peaked(arm, rate, width):
    """Best at 0.001 and a width of 128; that of 64 can hardly be told from it there."""
    return 0.6 - 0.05 * abs(math.log10(rate / 0.001)) - 0.2 * (width == 32) - 0.0002 * (width == 64)


def drawing_of(builder, **changes):
    group = crossed_grid(builder, peaked, widths=(32, 64, 128), **changes)
    clm = surfaces(group, varying_factors(group))[0]
    return clm, heat_map_figure(group, clm, [WORD_SWAP])


def test_the_best_cell_is_framed_and_those_not_told_from_it_are_marked(builder):
    surface, drawing = drawing_of(builder)
    assert [factor.name for factor in surface.factors] == ["learning rate", "width"]
    assert surface.name == "clm" and len(surface.arms) == 9
    ax = drawing.figure.axes[0]
    texts = {text.xy: text.get_text() for text in ax.texts}
    # Places are (column, row): widths on x, rates on y, both from the smallest.
    assert len(texts) == 9 and all(text.endswith("n = 3") for text in texts.values())
    (frame,) = ax.patches
    best = round(frame.get_x() + 0.47), round(frame.get_y() + 0.47)
    (alike,) = [place for place, text in texts.items() if text.startswith("≈")]
    assert {best, alike} == {(1, 1), (2, 1)}
    assert "0.61" in texts[best], "the mean over seeds, each of which shifts it by 0.01"


def test_each_cell_says_over_how_many_seeds_it_is(builder):
    _, drawing = drawing_of(builder, skip=lambda arm, rate, width, seed: (rate, width, seed) == (0.003, 32, 1))
    texts = {text.xy: text.get_text() for text in drawing.figure.axes[0].texts}
    assert texts[0, 2].endswith("n = 2") and texts[0, 0].endswith("n = 3")


def test_cells_without_a_finished_run_are_empty(builder):
    surface, drawing = drawing_of(builder, skip=lambda arm, rate, width, seed: (rate, width) == (0.0003, 64))
    assert (1, 0) not in {text.xy for text in drawing.figure.axes[0].texts}
    assert len(surface.arms) == 9


def test_one_line_of_settings_is_no_surface(builder):
    group = crossed_grid(builder, peaked, widths=(64,))
    assert surfaces(group, varying_factors(group)) == []
