from dataclasses import replace

import matplotlib
import pytest

from analysis.figures import final_scores as figures_scores
from analysis.figures import learning_curves as figures_curves
from analysis.figures import overview as figures_overview
from analysis.figures.learning_curves import file_name
from analysis.figures.style import BLUE, VERMILION, looks, plain, save, style
from analysis.records.results import load
from tests.support.grids import CLM, MLM, yardsticks


@pytest.fixture
def many(builder):
    for rate in (0.3, 0.15, 0.5):
        builder.run(yardsticks(replace(MLM, arm=f"mlm-{rate}", mask_rate=rate), 9_000), 0)
    builder.run(yardsticks(CLM, 9_000), 0)
    builder.run(replace(yardsticks(CLM, 9_000), arm="other", objective="Diffusion"), 0)
    return load(builder.finish())


def test_each_arm_has_its_own_look_and_objectives_differ_by_line(many):
    found = looks(many)
    assert found["clm"].color == BLUE and found["mlm-0.15"].color == VERMILION
    assert len({(look.color, look.marker) for look in found.values()}) == len(found)
    assert len({found[name].line for name in ("clm", "mlm-0.3", "other")}) == 3


def test_own_losses_share_no_panel_between_objectives(many):
    with style():
        drawing = figures_curves.own_losses(many)
    titles = [ax.get_title(loc="left") for ax in drawing.figure.axes]
    assert titles == [f"{o}: {k} loss" for k in ("training", "held-out") for o in ("MLM", "CLM", "Diffusion")]
    assert "must not be compared across objectives" in drawing.caption


def test_held_out_panels_have_the_floor_of_each_arm(two_languages):
    rules, text = load(two_languages).families
    with style():
        first, second = (figures_curves.own_losses(family) for family in (rules, text))
    for ax, floor in zip(first.figure.axes, (3.4, 2.9), strict=True):
        (level,) = (line.get_ydata()[0] for line in ax.lines if len(line.get_ydata()) == 2)
        assert level == pytest.approx(floor) and ax.get_ylim()[0] < floor
    assert "best possible" in [text.get_text() for text in first.figure.legends[0].get_texts()]
    assert "best possible" not in [text.get_text() for text in second.figure.legends[0].get_texts()]


def test_legend_covers_no_panel(many, tmp_path):
    with style():
        for drawing in (figures_overview.overview(many, "tokens", True), figures_scores.densities(many)):
            save(drawing, tmp_path)
            (legend,) = drawing.figure.legends
            box = legend.get_window_extent()
            assert not any(box.overlaps(ax.get_window_extent()) for ax in drawing.figure.axes)
            assert box.x0 >= 0 and box.x1 <= drawing.figure.bbox.x1


def test_svg_text_is_text(many, tmp_path):
    with style():
        _, svg = save(figures_overview.overview(many, "tokens", True), tmp_path)
    assert "tokens read</text>" in svg.read_text() and "<dc:date>" not in svg.read_text()


def test_style_leaves_the_users_settings_alone():
    with matplotlib.rc_context({"font.size": 31}):
        with style():
            assert matplotlib.rcParams["font.size"] != 31
        assert matplotlib.rcParams["font.size"] == 31


def test_text_for_figures_and_files():
    assert plain("a\n $b$") == r"a \$b\$"
    assert len(plain("x" * 99)) == 40
    assert file_name("probe/../books/f1") == "probe-..-books-f1"
    assert file_name("///") == "quantity"
