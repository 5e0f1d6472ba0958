"""The ladder of supervision density: equal budgets are the largest that all finished runs have spent."""

from dataclasses import replace

import pytest

from analysis.records.read_results import read_results
from analysis.statistics.density import density_ladder
from tests.support.declarations import declaration
from tests.support.grids import CLM, MLM, SNAPSHOTS, minimal

WORD_SWAP = declaration("word_swap/accuracy")


def flops(density, tokens=SNAPSHOTS[-1]):
    return tokens * (3e6 + 2e6 * density)


def test_scores_are_read_at_the_largest_budget_that_all_have_spent(builder):
    arms = {density: replace(minimal(MLM), arm=f"{density:g}", density=density) for density in (0.15, 0.5, 1.0)}
    course = arms[0.15].quantities["word_swap/accuracy"]
    for plan in arms.values():
        for seed in range(3):
            builder.run(plan, seed)
    group = read_results(builder.finish())
    ladder = density_ladder(group.arms, WORD_SWAP)
    assert [rung.density for rung in ladder.values()] == pytest.approx([0.15, 0.5, 1.0])
    sparse, middle, dense = ladder.values()
    # As many tokens were read by all; for as many FLOPs the dense arms have read fewer, and learned less.
    for rung in ladder.values():
        assert rung.scores["tokens"].mean == pytest.approx(sum(course(SNAPSHOTS[-1], s) for s in range(3)) / 3)
        assert rung.scores["tokens"].n == 3
    assert sparse.scores["flops"].mean == sparse.scores["tokens"].mean
    assert sparse.scores["flops"].mean > middle.scores["flops"].mean > dense.scores["flops"].mean
    tokens = flops(0.15) / flops(1.0) * SNAPSHOTS[-1]
    near = sum(course(tokens, s) for s in range(3)) / 3
    assert dense.scores["flops"].mean == pytest.approx(near, abs=0.003)


def test_unfinished_runs_neither_count_nor_limit_the_budget(builder):
    for seed in range(2):
        builder.run(minimal(CLM), seed)
    builder.run(minimal(MLM), 0, tokens=5_000, state="interrupted")
    group = read_results(builder.finish())
    (rung,) = density_ladder(group.arms, WORD_SWAP).values()
    assert rung.scores["tokens"].n == 2
    assert density_ladder(group.arms[1:], WORD_SWAP) == {}
