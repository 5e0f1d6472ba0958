from dataclasses import replace

from analysis.records.read_results import read_results
from analysis.sections.summary import final_score_sentences, summarise
from analysis.statistics.group_comparisons import compare_within
from analysis.statistics.intervals import t_interval
from tests.support.declarations import declaration
from tests.support.grids import CLM, MLM, PREFIX, STATES_ACCURACY, constant, minimal, on_text

EXCESS_LOSS, BOOKS = declaration("validation/excess_loss"), declaration("probe/books/accuracy")


def test_scores_stand_beside_the_bounds(known_rules):
    (excess,) = final_score_sentences(known_rules, EXCESS_LOSS)
    clm, mlm = (t_interval(arm.final_scores(EXCESS_LOSS).values(), [0.01] * 3) for arm in known_rules.arms)
    assert excess.startswith("Excess loss (nats per target), less is better, at the end: clm ")
    assert f"clm {clm.mean:.3f} [{clm.low:.3f}, {clm.high:.3f}] (n = 3); mlm {mlm.mean:.3f} [" in excess
    (probe,) = final_score_sentences(known_rules, declaration(STATES_ACCURACY))
    assert "(n = 3), below the best that a causal model" in probe and "(n = 3), above what any causal model" in probe
    assert "Best guess from the past 0.800, which no causal model can beat; best guess from both sides 0.910" in probe


def test_a_baseline_that_is_not_beaten_is_named(builder):
    for seed in range(2):
        for plan, best, bag in ((CLM, 0.8, 0.7), (MLM, 0.6, 0.7)):
            plan = on_text(plan, 1_000, best, noise=0.0)
            quantities = {**plan.quantities, "probe/books/bag_of_tokens_accuracy": constant(bag)}
            builder.run(replace(plan, quantities=quantities), seed)
    group = read_results(builder.finish())
    scores, baseline = final_score_sentences(group, BOOKS)
    assert scores.startswith("Books probe, accuracy, at the end: clm 0.7")
    assert "1 of 2 arms is not distinguishably better than the baseline bag of tokens, 0.700 (mlm 0.599)." in baseline
    assert "majority class" not in " ".join((scores, baseline))


def test_a_baseline_that_no_arm_beats(builder):
    plan = replace(CLM, quantities={BOOKS.name: constant(0.5), "probe/books/bag_of_tokens_accuracy": constant(0.53)})
    builder.run(plan, 0)
    builder.run(replace(MLM, quantities={**plan.quantities, BOOKS.name: constant(0.43)}), 0)
    said = final_score_sentences(read_results(builder.finish()), BOOKS)
    assert said[1] == (
        "Books probe, accuracy: no arm is better in one seed, or in seeds that agree exactly, than the baseline bag of "
        "tokens, 0.530 (clm 0.500; mlm 0.430)."
    )


def test_of_one_seed_nothing_is_called_distinguishable(builder):
    """Nor is it implied: one arm is above the baseline, and no sentence may say that the other alone is not so."""
    plan = replace(CLM, quantities={BOOKS.name: constant(0.6), "probe/books/bag_of_tokens_accuracy": constant(0.53)})
    builder.run(plan, 0)
    builder.run(replace(MLM, quantities={**plan.quantities, BOOKS.name: constant(0.43)}), 0)
    said = " ".join(final_score_sentences(read_results(builder.finish()), BOOKS))
    assert "1 of 2 arms is not better in one seed, or in seeds that agree exactly, than the baseline" in said
    assert "distinguishabl" not in said


def test_an_arm_that_does_not_answer_is_named_as_that(builder):
    builder.run(minimal(CLM), 0)
    builder.run(replace(MLM, quantities={"validation/loss": constant(4.0)}), 0)
    builder.pending(minimal(PREFIX), 0)
    (said,) = final_score_sentences(read_results(builder.finish()), declaration("word_swap/accuracy"))
    assert said.endswith("(n = 1); no final score yet: prefix, half; none for: mlm.")


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
