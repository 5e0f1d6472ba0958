from dataclasses import replace

import pytest

from analysis.figures.density import density_ladder_figure
from analysis.figures.style import figure_style
from analysis.records.read_results import read_results
from analysis.statistics.density import density_ladder
from analysis.tables.density import density_ladder_table, density_table
from tests.support.declarations import declaration
from tests.support.drawn import pieces
from tests.support.grids import CLM, MLM, minimal, on_text


def test_density_nominal_and_realised(builder):
    builder.run(on_text(CLM, 9_000), 0)
    builder.run(on_text(MLM, 9_000), 0, tokens=20_000, state="interrupted")
    builder.pending(replace(MLM, arm="later"), 0)
    clm, mlm, later = density_table(read_results(builder.finish())).rows
    assert clm[2] == 0.99 and clm[3].mean == pytest.approx(0.99)
    assert clm[4].mean == pytest.approx(1e9 * 0.99 / (3e6 + 2e6 * 0.99))
    assert mlm[5:] == (20_000, 3_000)
    assert str(later[3]) == "missing (nothing recorded)"


def test_the_ladder_is_the_same_in_table_and_figure(builder):
    """A row for each arm, sparse ones first, and a marker for each of its scores."""
    for density in (1.0, 0.15, 0.5):
        for seed in range(2):
            builder.run(replace(minimal(MLM), arm=f"{density:g}", density=density), seed)
    group = read_results(builder.finish())
    ladders = {declaration("word_swap/accuracy"): density_ladder(group.arms, declaration("word_swap/accuracy"))}
    rows = density_ladder_table(ladders).rows
    assert [row[0] for row in rows] == ["0.15", "0.5", "1"] and len({row[2] for row in rows}) == 1
    with figure_style():
        axes = density_ladder_figure(group, ladders).figure.axes
    for column, ax in enumerate(axes, 3):
        marks = sorted(tuple(place[0]) for line, place in pieces(ax) if line.get_marker() not in ("", "None"))
        assert marks == [(pytest.approx(row[1]), pytest.approx(row[column].mean)) for row in rows]
    assert rows[2][3].mean > rows[2][4].mean, "at equal FLOPs a dense arm has read less"
