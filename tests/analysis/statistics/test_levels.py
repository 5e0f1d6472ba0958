from dataclasses import replace

import numpy as np
import pytest

from analysis.records.read_results import read_results
from analysis.statistics.intervals import t_interval
from analysis.statistics.levels import levels_of, not_beaten, verdict
from experiments.records.quantities import Quantity
from tests.support.declarations import declaration
from tests.support.grids import CLM, MLM, STATES_ACCURACY, constant, record_parts

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
        ((0.85, 0.85), "the seeds agree exactly, so how much others would differ is not known"),
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
    assert [level.name for level in levels_of(group, STATES) if not_beaten(group, level)] == [
        "majority class",
        "bag of tokens",
    ]


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


def test_a_margin_carries_the_luck_of_the_items_of_score_and_baseline(builder):
    """By the seeds alone the encoder would be above the baseline for certain."""
    score, error = Quantity("my/score", "score", "share", "higher", "all", standard_error="my/error"), "my/error"
    base = Quantity("my/base", "base", "share", level_of="my/score", standard_error="my/base_error")
    declared = (score, base, Quantity(error, "e", "share"), Quantity("my/base_error", "e", "share"))
    levels = {"my/base": [0.5] * 3, error: [0.03] * 3, "my/base_error": [0.04] * 3}
    group = grid(builder, (0.55, 0.56, 0.57), levels, score=score, declared=declared)
    (level,) = levels_of(group, score)
    margin = level.margin(group.arms[0])
    assert margin.high - margin.mean == pytest.approx(((4.302653 * 0.01 / 3**0.5) ** 2 + (1.959964 * 0.05) ** 2) ** 0.5)
    assert verdict(group.arms[0], [level]) == "not distinguishable from base"
    assert t_interval([0.05, 0.06, 0.07]).excludes(0)


def test_the_luck_that_score_and_level_share_cancels_where_its_parts_are_recorded(builder):
    """The losses of blocks vary much, and so does the Bayes loss on them; the excess over it does not."""
    loss = Quantity("my/loss", "loss", "nats", "lower", "question", standard_error="my/loss_error")
    level = Quantity(
        "my/bayes", "Bayes loss", "nats", level_of="my/loss", bounds="all", standard_error="my/bayes_error"
    )
    errors = tuple(Quantity(f"my/{name}_error", name, "nats") for name in ("loss", "bayes"))
    levels = {"my/bayes": [3.0] * 3, "my/loss_error": [0.5] * 3, "my/bayes_error": [0.5] * 3}
    group = grid(builder, (3.1, 3.11, 3.12), levels, score=loss, declared=(loss, level, *errors))
    (found,) = levels_of(group, loss)
    assert verdict(group.arms[0], [found]) == "not distinguishable from the best that any model can reach"
    luck = np.random.default_rng(0).normal(0, 0.1, 20)
    for run in group.arms[0].runs:
        record_parts(run.directory, {"my/bayes": luck - luck.mean(), "my/loss": (luck - luck.mean()) * 1.02})
    group = read_results(builder.directory)
    (found,) = levels_of(group, loss)
    assert verdict(group.arms[0], [found]) == "above the best that any model can reach"
