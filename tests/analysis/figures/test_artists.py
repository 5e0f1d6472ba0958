import numpy as np
from matplotlib.figure import Figure

from analysis.figures.artists import Stroke, draw_bands, draw_strokes
from tests.support.drawn import pieces


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
