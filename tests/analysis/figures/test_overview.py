from analysis.figures.overview import overview_figure, overview_metrics
from analysis.figures.style import figure_style, save_drawing
from analysis.records.quantities import EXCESS_LOSS
from analysis.records.read_results import read_results
from tests.support.grids import CLM, STATES_ACCURACY, on_text


def test_overview_has_a_row_for_each_data_group_with_its_own_arms_only(two_data_groups, tmp_path):
    results = read_results(two_data_groups)
    assert overview_metrics(results.data_groups[0]) == [EXCESS_LOSS, STATES_ACCURACY]
    with figure_style():
        drawing = overview_figure(results, "tokens", True)
        titles = [ax.get_title(loc="left") for ax in drawing.figure.axes]
        assert titles == [
            "known rules: excess loss",
            "known rules: states probe",
            "King James: books probe",
            "King James: word-swap accuracy",
        ]
        assert not any("…" in title for title in titles)
        means = [[line for line in ax.lines if len(line.get_xdata()) == 8] for ax in drawing.figure.axes]
        assert [len(found) for found in means] == [8] * 4  # three seeds and a mean of each of two arms
        save_drawing(drawing, tmp_path)
        (legend,) = drawing.figure.legends
        assert [text.get_text() for text in legend.get_texts()][:2] == ["clm (n = 3)", "mlm (n = 3)"]
        assert not any(legend.get_window_extent().overlaps(ax.get_window_extent()) for ax in drawing.figure.axes)


def test_a_single_data_group_has_supervision_in_its_overview(builder):
    builder.run(on_text(CLM, 8_000), 0)
    with figure_style():
        drawing = overview_figure(read_results(builder.finish()), "tokens", True)
    assert [ax.get_title(loc="left") for ax in drawing.figure.axes][-1] == "supervision received"
