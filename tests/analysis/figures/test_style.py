import matplotlib

from analysis.figures.overview import overview_figure
from analysis.figures.style import figure_style, plain, save_drawing
from analysis.tables.table import file_name


def test_svg_text_is_text(three_objectives, tmp_path):
    with figure_style():
        _, svg = save_drawing(overview_figure(three_objectives, "tokens", True), tmp_path)
    assert "tokens read</text>" in svg.read_text() and "<dc:date>" not in svg.read_text()


def test_style_leaves_the_users_settings_alone():
    with matplotlib.rc_context({"font.size": 31}):
        with figure_style():
            assert matplotlib.rcParams["font.size"] != 31
        assert matplotlib.rcParams["font.size"] == 31


def test_text_for_figures_and_files():
    assert plain("a\n $b$") == r"a \$b\$"
    assert len(plain("x" * 99)) == 40
    assert file_name("probe/../books/macro_f1") == "probe-..-books-macro_f1"
    assert file_name("///") == "quantity"
