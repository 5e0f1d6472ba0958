import itertools

import numpy as np
import pytest
from matplotlib.figure import Figure

from analysis.figures.density import density_figure
from analysis.figures.final_scores import final_scores_figure
from analysis.figures.panels import Stroke, draw_bands, draw_strokes, draw_ticks, panels
from analysis.figures.seeds import budget_axis, log_values, name_rows
from analysis.figures.style import figure_style, save_drawing
from tests.support.drawn import pieces


def log_log(ax):
    ax.plot([1_500, 240_000], [0.03, 1.7])
    budget_axis(ax, "tokens", log=True)
    log_values(ax, 0.03, 1.7)


def linear(ax):
    ax.plot([0, 240_000], [-0.25, 0.9])
    budget_axis(ax, "tokens", log=False)


def rows(ax):
    ax.plot([0.77662, 0.77668], [0, 2])
    name_rows(ax, ["one", "two", "three"])


@pytest.mark.parametrize("draw", [log_log, linear, rows])
def test_ticks_stand_where_matplotlib_has_them(draw):
    with figure_style():
        figure, (ours, theirs) = panels(2, 2)
        for ax in (ours, theirs):
            draw(ax)
        draw_ticks(ours)
        figure.draw_without_rendering()
        labels, places = [], []
        for axis in (theirs.xaxis, theirs.yaxis):
            for tick in axis.get_major_ticks():
                at = theirs.transAxes.inverted().transform(tick.label1.get_transform().transform((tick.get_loc(),) * 2))
                share = at[0 if axis is theirs.xaxis else 1]
                if -1e-6 <= share <= 1 + 1e-6:
                    labels.append(tick.label1.get_text())
                    places.append(share)
        *ticks, x_label, y_label = ours.texts
        assert (x_label.get_text(), y_label.get_text()) == (theirs.get_xlabel(), theirs.get_ylabel())
        assert [text.get_text() for text in ticks] == labels
        assert [max(text.get_position()) for text in ticks] == pytest.approx(places)
        grid, marks = (
            [part for line, part in pieces(ours) if line.get_color() == color and len(part) == 2]
            for color in ("#E3E3E3", "black")
        )
        assert len(marks) == len(labels)
        assert len(grid) == len(labels) - (3 if draw is rows else 0)
        assert not ours.xaxis.get_visible() and not ours.yaxis.get_visible()


def test_a_label_is_the_whole_number():
    with figure_style():
        _, (ax,) = panels(1, 1)
        ax.plot([0, 3e9], [0, 2.5e-7])
        draw_ticks(ax)
    labels = [float(text.get_text().replace("−", "-")) for text in ax.texts if text.get_text()]
    assert {2e9, 2e-7} <= {*labels}


def test_nothing_in_a_panel_reaches_another(three_objectives, tmp_path):
    group = three_objectives
    with figure_style():
        for drawing in (density_figure(group), final_scores_figure(group, group.shared_metrics)):
            save_drawing(drawing, tmp_path)
            boxes = [ax.get_tightbbox() for ax in drawing.figure.axes]
            assert not any(one.overlaps(other) for one, other in itertools.combinations(boxes, 2))
            whole = drawing.figure.bbox
            assert all(box.x0 >= 0 and box.y0 >= 0 and box.x1 <= whole.x1 and box.y1 <= whole.y1 for box in boxes)


def test_a_panel_has_its_margins():
    figure, axes = panels(3, 2, width=4, height=3, left=[2, 0.5], right=[0.1, 1])
    inches = [ax.get_position().bounds * np.tile(figure.get_size_inches(), 2) for ax in axes]
    assert figure.get_size_inches().tolist() == pytest.approx([3 + 3 + 2 + 0.5 + 0.1 + 1, 6])
    assert [one.tolist() for one in inches] == [
        pytest.approx([2, 3.5, 3, 2.2]),
        pytest.approx([5.6, 3.5, 3, 2.2]),
        pytest.approx([2, 0.5, 3, 2.2]),
    ]


def test_strokes_that_look_alike_are_one_artist_with_gaps():
    ax = Figure().subplots()
    places = [[(i, i), (i + 1, i)] for i in range(4)]
    draw_strokes(
        ax,
        [
            Stroke(places[0], "red"),
            Stroke(places[1], "blue", ":"),
            Stroke(places[2], "red"),
            Stroke([], "red"),
            Stroke(places[3], "red", "", "o"),
        ],
        lw=3,
    )
    assert len(ax.lines) == 3 and all(line.get_linewidth() == 3 for line in ax.lines)
    found = [(line.get_color(), line.get_linestyle(), line.get_marker(), part.tolist()) for line, part in pieces(ax)]
    assert found == [
        ("red", "-", "", [[0, 0], [1, 0]]),
        ("red", "-", "", [[2, 2], [3, 2]]),
        ("blue", ":", "", [[1, 1], [2, 1]]),
        ("red", "None", "o", [[3, 3], [4, 3]]),
    ]


def test_a_band_has_a_gap_where_an_end_is_not_known():
    ax = Figure().subplots()
    low, high = np.asarray([0, 0, np.nan, 0, 0.0]), np.asarray([1, 2, 3, 4, np.inf])
    draw_bands(
        ax,
        [
            (np.arange(5.0), low, high, "red"),
            (np.arange(2.0), -high[:2], low[:2], "blue"),
            (low[:0], low[:0], low[:0], "green"),
        ],
    )
    (bands,) = ax.collections
    outlines = [path.vertices[:-1].tolist() for path in bands.get_paths()]
    assert outlines == [
        [[0, 0], [1, 0], [1, 2], [0, 1]],
        [[0, -1], [1, -2], [1, 0], [0, 0]],
    ]
    assert len(bands.get_facecolor()) == 2
