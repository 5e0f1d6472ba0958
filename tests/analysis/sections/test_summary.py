from analysis.figures.excess_loss import excess_and_probe_figure, excess_loss_figure
from analysis.figures.style import figure_style
from analysis.records.quantities import EXCESS_LOSS
from analysis.records.read_results import read_results
from analysis.sections.summary import bayes_sentences
from analysis.statistics.bayes_accuracy import bayes_accuracies
from analysis.statistics.intervals import t_interval
from tests.support.grids import MLM, on_text


def test_bayes_sentences_come_from_the_numbers(known_rules):
    excess, probe = bayes_sentences(known_rules)
    clm, mlm = (t_interval(arm.final_scores(EXCESS_LOSS).values()) for arm in known_rules.arms)
    assert f"clm {clm.mean:.3f} [{clm.low:.3f}, {clm.high:.3f}] (n = 3); mlm {mlm.mean:.3f} [" in excess
    assert "(n = 3), below the best that a causal model" in probe and "(n = 3), above what any causal model" in probe
    assert "0.570 from the token alone, 0.800 from the past" in probe and "0.910 from both sides" in probe


def test_nothing_is_said_or_drawn_where_rules_are_not_known(builder):
    builder.run(on_text(MLM, 8_000), 0)
    results = read_results(builder.finish())
    assert bayes_sentences(results) == [] and bayes_accuracies(results) == []
    with figure_style():
        assert excess_loss_figure(results) is None and excess_and_probe_figure(results, True) is None
