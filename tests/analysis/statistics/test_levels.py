from dataclasses import replace

import pytest

from analysis.records.read_results import read_results
from analysis.statistics.levels import levels_of, not_beaten, verdict
from experiments.records.quantities import Quantity
from tests.support.declarations import declaration
from tests.support.grids import CLM, MLM, STATES_ACCURACY, constant

STATES = declaration(STATES_ACCURACY)


def seeds(*values):
    return lambda tokens, seed: values[seed]


def grid(builder, scores, levels, plan=MLM, score=STATES, declared=()):
    for seed in range(len(scores)):
        quantities = {score.name: seeds(*scores)} | {name: seeds(*values) for name, values in levels.items()}
        builder.run(replace(plan, quantities=quantities, declared=declared), seed)
    return read_results(builder.finish())


def test_chance_comes_first_and_levels_in_the_order_declared(known_rules):
    assert [(level.name, level.bounds, level.value) for level in levels_of(known_rules, STATES)] == [
        ("majority class", "", 0.1),
        ("best guess from the token alone", "", 0.57),
        ("best guess from the past", "causal", 0.8),
        ("best guess from both sides", "all", 0.91),
    ]
    swap = declaration("word_swap/accuracy")
    assert [(level.name, level.value) for level in levels_of(known_rules, swap)] == [("chance", 0.5)]


def test_a_level_may_differ_by_arm(known_rules):
    (level,) = levels_of(known_rules, declaration("validation/loss"))
    assert level.value is None and level.values == pytest.approx([3.4, 2.9])
    assert [level.of(arm) for arm in known_rules.arms] == pytest.approx([3.4, 2.9])


@pytest.mark.parametrize(
    ("scores", "says"),
    [
        ((0.83, 0.85, 0.87), "above what any causal model can reach"),
        ((0.79, 0.82, 0.85), "not distinguishable from the best that a causal model can reach"),
        ((0.68, 0.70, 0.72), "below the best that a causal model can reach"),
        ((0.85,), "one seed, no interval"),
        ((0.85, 0.85), "the seeds agree exactly, so the interval has no width"),
    ],
)
def test_verdict_beside_a_bound_for_causal_models(builder, scores, says):
    bound = {"probe/states/bayes_accuracy_past": [0.8] * 3}
    group = grid(builder, scores, bound)
    assert verdict(group.arms[0], levels_of(group, STATES)) == says


def test_above_a_bound_that_holds_for_it_a_model_was_lucky_or_wrong(builder):
    past, both = ({f"probe/states/bayes_accuracy_{view}": [0.8] * 3} for view in ("past", "both"))
    causal = grid(builder, (0.85, 0.86, 0.87), past, CLM)
    assert "although it is causal: luck of the test items, or an error" in verdict(
        causal.arms[0], levels_of(causal, STATES)
    )
    anyone = grid(builder, (0.85, 0.86, 0.87), both, replace(MLM, arm="other"))
    assert "above what any model can reach: luck" in verdict(anyone.arms[1], levels_of(anyone, STATES))


def test_baselines_are_compared_seed_by_seed(builder):
    levels = {
        "probe/states/untrained_accuracy": [0.39, 0.49, 0.59],
        "probe/states/majority_accuracy": [0.5] * 3,
        "probe/states/bag_of_tokens_accuracy": [0.9] * 3,
    }
    group = grid(builder, (0.40, 0.505, 0.61), levels)
    assert verdict(group.arms[0], levels_of(group, STATES)) == (
        "better than untrained encoder; not distinguishable from majority class; worse than bag of tokens"
    )
    assert [level.name for level in levels_of(group, STATES) if not_beaten(group, level)] == ["bag of tokens"]


def test_directions_turn_where_less_is_better(builder):
    errors = Quantity("my/errors", "errors", "errors per word", "lower", "all", chance=9.0)
    best = Quantity("my/best", "best known", "errors per word", level_of="my/errors", bounds="causal")
    group = grid(builder, (3.0, 3.1, 3.2), {"my/best": [4.0] * 3}, score=errors, declared=(errors, best))
    assert verdict(group.arms[0], levels_of(group, errors)) == (
        "better than chance; below what any causal model can reach"
    )


def test_a_level_without_scores_says_why(builder):
    builder.run(replace(CLM, quantities={STATES.name: constant(0.5)}), 0, tokens=5_000, state="interrupted")
    group = read_results(builder.finish())
    swap = declaration("word_swap/accuracy")
    assert "resumable" in verdict(group.arms[0], levels_of(group, swap)) and levels_of(group, STATES) == []
