import numpy as np
import pytest

from analysis.figures.learning_curves import learning_curves_figure
from analysis.figures.style import figure_style
from tests.support.declarations import declaration
from tests.support.drawn import legend, pieces
from tests.support.grids import falling


def test_on_the_log_scale_the_mean_is_geometric(known_rules):
    with figure_style():
        drawing = learning_curves_figure(known_rules, "excess", [declaration("validation/excess_loss")], True)
    assert [ax.get_xlabel() for ax in drawing.figure.axes] == [
        "tokens read",
        "supervised tokens",
        "training FLOPs",
        "training time (s)",
    ]
    thick = [places for line, places in pieces(drawing.figure.axes[0]) if line.get_linewidth() > 1]
    expected = np.prod([falling(20)(200_000, seed) for seed in range(3)]) ** (1 / 3)
    assert thick[0][-1, 1] == pytest.approx(expected)
    assert (
        drawing.caption
        == "Excess loss (nats per target). The validation loss less the Bayes loss on the same questions."
    )


def test_quantities_of_one_figure_are_its_panels(three_objectives):
    rates = [declaration(f"cloze/{rate}/loss") for rate in (0.15, 0.3, 0.5)]
    with figure_style():
        drawing = learning_curves_figure(three_objectives, "rates", rates, True)
    titles = [ax.get_title(loc="left") for ax in drawing.figure.axes if ax.get_title(loc="left")]
    assert titles == [f"validation loss at {rate} % masked" for rate in (15, 30, 50)]
    entries = [text.get_text() for text in legend(drawing.figure)]
    assert len(entries) == 3 and not any("clm" in text or "prefix" in text for text in entries)
