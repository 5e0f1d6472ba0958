import pytest

from analysis.figures.own_losses import own_losses_figure
from analysis.figures.style import figure_style
from analysis.records.read_results import read_results


def test_own_losses_share_no_panel_between_objectives(three_objectives):
    with figure_style():
        drawing = own_losses_figure(three_objectives)
    titles = [ax.get_title(loc="left") for ax in drawing.figure.axes]
    assert titles == [f"{o}: {k} loss" for k in ("training", "validation") for o in ("MLM", "CLM", "PrefixLM")]
    assert "must not be compared across objectives" in drawing.caption


def test_validation_panels_have_the_bayes_loss_of_each_arm(two_data_groups):
    results = read_results(two_data_groups)
    with figure_style():
        first, second = (own_losses_figure(group) for group in results.data_groups)
    for ax, bayes_loss in zip(first.figure.axes, (3.4, 2.9), strict=True):
        (level,) = (line.get_ydata()[0] for line in ax.lines if len(line.get_ydata()) == 2)
        assert level == pytest.approx(bayes_loss) and ax.get_ylim()[0] < bayes_loss
    assert "Bayes loss" in [text.get_text() for text in first.figure.legends[0].get_texts()]
    assert "Bayes loss" not in [text.get_text() for text in second.figure.legends[0].get_texts()]
