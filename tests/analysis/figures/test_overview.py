from dataclasses import replace

import pytest

from analysis.figures.overview import overview_figure
from analysis.figures.style import figure_style, save_drawing
from analysis.records.read_results import read_results
from experiments.records.quantities import Quantity
from tests.support.drawn import legend, legend_box, levels, pieces
from tests.support.grids import BAYES_ACCURACIES, CLM, constant, masked, rising


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
        curves = [[places for _, places in pieces(ax) if len(places) == 8] for ax in drawing.figure.axes]
        assert [len(found) for found in curves] == [8] * 4  # three seeds and a mean of each of two arms
        save_drawing(drawing, tmp_path)
        assert [text.get_text() for text in legend(drawing.figure)][:2] == ["clm (n = 3)", "mlm (n = 3)"]
        assert not any(legend_box(drawing.figure).overlaps(ax.get_window_extent()) for ax in drawing.figure.axes)


def test_log_scale_is_log_log_and_levels_are_named_outside_the_frame(known_rules, tmp_path):
    with figure_style():
        drawing = overview_figure(known_rules, "tokens", True)
        left, right = drawing.figure.axes
        assert (left.get_xscale(), left.get_yscale()) == ("log", "log")
        assert set(levels(right)) >= set(BAYES_ACCURACIES.values())
        names = list(right.texts)
        save_drawing(drawing, tmp_path)
        assert [" ".join(text.get_text().split()) for text in names] == [
            "best guess from the token alone",
            "best guess from the past: bound for causal models",
            "best guess from both sides: bound for any model",
        ]
        boxes = [text.get_window_extent() for text in names]
        assert all(box.x1 <= drawing.figure.bbox.x1 for box in boxes)
        assert all(text.xyann[0] > 1 for text in names)
        assert not any(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[i + 1 :])
        assert not legend_box(drawing.figure).overlaps(right.get_window_extent())


NATS = Quantity("likelihood/nats_per_token", "likelihood or bound", "nats per token", "lower", "all")
ENTROPY = Quantity("likelihood/entropy", "entropy (Bayes loss)", "nats per token", level_of=NATS.name, bounds="all")


def test_a_causal_and_a_masked_likelihood_stand_in_one_panel_above_the_entropy(builder, tmp_path):
    for seed in range(3):
        for plan, end in ((CLM, 3.5), (masked(), 3.8)):
            courses = {NATS.name: rising(4.2, end, 20_000, 0.01), ENTROPY.name: constant(3.4)}
            builder.run(replace(plan, quantities=courses, declared=(NATS, ENTROPY)), seed)
    with figure_style():
        drawing = overview_figure(read_results(builder.finish()), "tokens", True)
        (ax,) = drawing.figure.axes
        assert (ax.get_xlabel(), ax.get_ylabel()) == ("tokens read", "nats per token, less is better")
        curves = [places for _, places in pieces(ax) if len(places) == 8]
        assert len(curves) == 8  # three seeds and a mean of each of two arms
        (bands,) = ax.collections
        assert len(bands.get_paths()) == 2
        assert levels(ax) == [pytest.approx(3.4)]
        assert ax.get_ylim()[0] < 3.4 < min(places[:, 1].min() for places in curves)
        (name,) = ax.texts
        assert " ".join(name.get_text().split()) == "entropy (Bayes loss): bound for any model"
        save_drawing(drawing, tmp_path)
        assert [text.get_text() for text in legend(drawing.figure)] == ["clm (n = 3)", "mlm (n = 3)"]


def test_without_a_shared_metric_the_overview_is_the_supervision_received(builder):
    builder.run(replace(CLM, quantities={"validation/loss": constant(4.0)}), 0)
    with figure_style():
        drawing = overview_figure(read_results(builder.finish()), "tokens", True)
    assert [ax.get_title(loc="left") for ax in drawing.figure.axes] == ["supervision received"]
