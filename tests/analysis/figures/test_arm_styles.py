from analysis.figures.arm_styles import BLUE, VERMILION, arm_styles
from analysis.figures.density import density_figure
from analysis.figures.overview import overview_figure
from analysis.figures.style import figure_style, save_drawing
from analysis.records.read_results import read_results
from tests.support.drawn import legend_box
from tests.support.grids import CLM, in_language, masked


def test_each_arm_has_its_own_style_and_causal_arms_alone_are_solid(three_objectives):
    found = arm_styles(three_objectives)
    assert found["clm"].color == BLUE and found["mlm-0.3"].color == VERMILION
    assert len({(style.color, style.marker) for style in found.values()}) == len(found)
    assert {name for name, style in found.items() if style.line == "-"} == {"clm"}


def test_one_name_has_one_style_in_all_data_groups(two_data_groups, builder):
    results = read_results(two_data_groups)
    for one in (results, *results.data_groups):
        found = arm_styles(one)
        assert (found["clm"].color, found["mlm"].color) == (BLUE, VERMILION)
    for rate in (0.15, 0.3):
        builder.run(in_language(masked(rate, arm=f"{rate}"), "English"), 0)
    builder.run(in_language(CLM, "English"), 0)
    builder.run(in_language(CLM, "Chinese", corpus="PeoplesDaily"), 0)
    builder.run(in_language(masked(0.3, arm="0.3"), "Chinese", corpus="PeoplesDaily"), 0)
    found = arm_styles(read_results(builder.finish()))
    assert (found["clm"].color, found["0.15"].color) == (BLUE, VERMILION)
    assert len({style.color for style in found.values()}) == 3


def test_legend_covers_no_panel(three_objectives, tmp_path):
    with figure_style():
        for drawing in (overview_figure(three_objectives, "tokens", True), density_figure(three_objectives)):
            save_drawing(drawing, tmp_path)
            box = legend_box(drawing.figure)
            assert not any(box.overlaps(ax.get_tightbbox()) for ax in drawing.figure.axes)
            assert box.x0 >= 0 and box.x1 <= drawing.figure.bbox.x1
