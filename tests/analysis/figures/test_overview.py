from dataclasses import replace

import numpy as np

from analysis.figures.overview import overview_figure
from analysis.figures.style import figure_style, save_drawing
from analysis.records.read_results import read_results
from tests.support.grids import BAYES_ACCURACIES, CLM, constant


def test_overview_has_a_row_for_each_data_group_with_its_own_arms_only(two_data_groups, tmp_path):
    results = read_results(two_data_groups)
    with figure_style():
        drawing = overview_figure(results, "tokens", True)
        titles = [ax.get_title(loc="left") for ax in drawing.figure.axes]
        assert titles == [
            "known rules: excess loss",
            "known rules: states probe, accuracy",
            "King James: books probe, accuracy",
            "King James: word-swap accuracy",
        ]
        assert not any("…" in title for title in titles)
        means = [[line for line in ax.lines if len(line.get_xdata()) == 8] for ax in drawing.figure.axes]
        assert [len(found) for found in means] == [8] * 4  # three seeds and a mean of each of two arms
        save_drawing(drawing, tmp_path)
        (legend,) = drawing.figure.legends
        assert [text.get_text() for text in legend.get_texts()][:2] == ["clm (n = 3)", "mlm (n = 3)"]
        assert not any(legend.get_window_extent().overlaps(ax.get_window_extent()) for ax in drawing.figure.axes)


def test_log_scale_is_log_log_and_levels_are_named_outside_the_frame(known_rules, tmp_path):
    with figure_style():
        drawing = overview_figure(known_rules, "tokens", True)
        left, right = drawing.figure.axes
        assert (left.get_xscale(), left.get_yscale()) == ("log", "log")
        levels = [line.get_ydata()[0] for line in right.lines if len(set(np.atleast_1d(line.get_ydata()))) == 1]
        assert set(levels) >= set(BAYES_ACCURACIES.values())
        save_drawing(drawing, tmp_path)
        frame, (legend,) = right.get_window_extent(), drawing.figure.legends
        assert [" ".join(text.get_text().split()) for text in right.texts] == [
            "best guess from the token alone",
            "best guess from the past: bound for causal models",
            "best guess from both sides: bound for any model",
        ]
        boxes = [text.get_window_extent() for text in right.texts]
        assert all(box.x1 <= drawing.figure.bbox.x1 for box in boxes)
        assert all(text.xyann[0] > 1 for text in right.texts)
        assert not any(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[i + 1 :])
        assert not legend.get_window_extent().overlaps(frame)


def test_without_a_shared_metric_the_overview_is_the_supervision_received(builder):
    builder.run(replace(CLM, quantities={"validation/loss": constant(4.0)}), 0)
    with figure_style():
        drawing = overview_figure(read_results(builder.finish()), "tokens", True)
    assert [ax.get_title(loc="left") for ax in drawing.figure.axes] == ["supervision received"]
