from analysis.figures.final_scores import final_scores_figure
from analysis.figures.overview import overview_figure
from analysis.figures.style import figure_style


def test_a_baseline_has_one_line_in_all_figures(three_objectives):
    """In order of the panels: the majority class is the first of one score, chance the first of another."""
    found = {}
    with figure_style():
        for drawing in (
            overview_figure(three_objectives, "tokens", True),
            final_scores_figure(three_objectives, three_objectives.shared_metrics),
        ):
            for ax in drawing.figure.axes:
                for line in ax.lines:
                    x, y = line.get_data()
                    if line.get_color() == "#666666" and (len({*x}) == 1) != (len({*y}) == 1):
                        value = x[0] if len({*x}) == 1 else y[0]
                        found.setdefault(value, set()).add(str(line._dash_pattern))
    assert {*found} == {0.4, 0.5}  # the majority class, and chance
    assert all(len(lines) == 1 for lines in found.values()) and found[0.4] != found[0.5]
