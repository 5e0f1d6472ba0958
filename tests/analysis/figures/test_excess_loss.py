import numpy as np
import pytest

from analysis.figures.excess_loss import excess_and_probe_figure, excess_loss_figure
from analysis.figures.style import figure_style, save_drawing
from analysis.statistics.bayes_accuracy import CONTEXTS
from tests.support.grids import BAYES_ACCURACIES, falling


def test_excess_is_log_log_and_bayes_accuracies_are_named_outside_the_frame(known_rules, tmp_path):
    with figure_style():
        drawing = excess_and_probe_figure(known_rules, True)
        assert drawing is not None
        left, right = drawing.figure.axes
        assert (left.get_xscale(), left.get_yscale()) == ("log", "log")
        levels = [line for line in right.lines if len(set(np.atleast_1d(line.get_ydata()))) == 1]
        assert [line.get_ydata()[0] for line in levels[-3:]] == list(BAYES_ACCURACIES.values())
        save_drawing(drawing, tmp_path)
        frame, (legend,) = right.get_window_extent(), drawing.figure.legends
        assert [" ".join(text.get_text().split()) for text in right.texts] == list(CONTEXTS.values())
        boxes = [text.get_window_extent() for text in right.texts]
        assert all(box.x1 <= drawing.figure.bbox.x1 for box in boxes)
        assert all(text.xyann[0] > 1 for text in right.texts)
        assert not any(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[i + 1 :])
        assert not legend.get_window_extent().overlaps(frame)


def test_excess_loss_has_a_panel_for_tokens_and_one_for_targets(known_rules):
    with figure_style():
        drawing = excess_loss_figure(known_rules)
    assert drawing is not None
    assert [ax.get_xlabel() for ax in drawing.figure.axes] == ["tokens read", "supervised tokens"]
    thick = [line for line in drawing.figure.axes[0].lines if line.get_linewidth() > 1]
    expected = np.prod([falling(20)(200_000, seed) for seed in range(3)]) ** (1 / 3)
    assert thick[0].get_ydata()[-1] == pytest.approx(expected)
