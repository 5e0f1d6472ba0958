from dataclasses import replace

from analysis.figures.excess_loss import excess_and_probe_figure, excess_loss_figure
from analysis.figures.style import figure_style
from analysis.records.quantities import EXCESS_LOSS
from analysis.records.read_results import read_results
from analysis.sections.summary import bayes_sentences, summarise
from analysis.statistics.bayes_accuracy import bayes_accuracies
from analysis.statistics.group_comparisons import compare_within
from analysis.statistics.intervals import t_interval
from tests.support.grids import CLM, MLM, PREFIX, minimal, on_text


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


def test_of_many_comparisons_arms_are_listed_by_verdict(builder):
    slower = [replace(PREFIX, arm=f"prefix, {half}") for half in (20_000, 30_000)]
    for seed in range(3):
        builder.run(minimal(CLM, 8_000), seed)
        builder.run(minimal(MLM, 2_000), seed)
        for plan in slower:
            builder.run(minimal(plan, 25_000), seed)
    results = read_results(builder.finish())
    groups = [compare_within(group, []) for group in results.data_groups]
    said = " ".join(summarise(results, groups, "tokens"))
    assert "12 of 12 runs are finished, in 4 arms." in said
    who = "prefix, 20000; prefix, 30000."
    assert f"Word-swap accuracy, at the end, 3 arms against clm. Ahead: mlm. Behind: {who}" in said
    assert f"in tokens read, 3 arms against clm. Needs less: mlm. Needs more: {who}" in said
    assert "Targets per token read: clm 0.990; mlm 0.150; prefix, 20000 0.500; prefix, 30000 0.500." in said
