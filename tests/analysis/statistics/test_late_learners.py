"""Seeds that lie far from the others, measured by what has been learned."""

from dataclasses import replace

import pytest

from analysis.records.read_results import read_results
from analysis.sections.summary import summarise
from analysis.statistics.group_comparisons import compare_within
from analysis.statistics.late_learners import late_learners
from tests.support.declarations import declaration
from tests.support.grids import CLM, MLM

WORD_SWAP, LOSS = declaration("word_swap/accuracy"), declaration("validation/excess_loss")


def straight(first, last):
    """A course that rises or falls to what each seed ends with."""
    return lambda tokens, seed: first + (last[seed] - first) * min(1.0, tokens / 100_000)


def group_of(builder, name, first, ends):
    """Two arms; the seeds of the second end where `ends` says."""
    for seed in range(3):
        for plan, last in ((CLM, [ends[0]] * 3), (MLM, ends)):
            builder.run(replace(plan, quantities={name: straight(first, last)}), seed)
    return read_results(builder.finish())


def test_a_seed_that_lacks_a_quarter_of_the_gain_is_far_from_the_others(builder):
    group = group_of(builder, "word_swap/accuracy", 0.5, [0.90, 0.78, 0.88])
    _, mlm = group.arms
    assert late_learners(group, WORD_SWAP) == {mlm: [0.90, 0.88, 0.78]}
    said = " ".join(summarise(group, [compare_within(group, [])], "tokens"))
    assert "Word-swap accuracy: seeds lie far apart (mlm 0.900, 0.880, 0.780)" in said and "read the seeds" in said


def test_seeds_that_lie_near_each_other_are_not(builder):
    assert late_learners(group_of(builder, "word_swap/accuracy", 0.5, [0.90, 0.83, 0.88]), WORD_SWAP) == {}


def test_where_less_is_better_the_seed_that_ends_high_is_late(builder):
    group = group_of(builder, "validation/excess_loss", 2.0, [0.1, 0.9, 0.2])
    assert list(late_learners(group, LOSS).values()) == [pytest.approx([0.1, 0.2, 0.9])]


def test_where_nothing_was_learned_no_seed_is_late(builder):
    assert late_learners(group_of(builder, "word_swap/accuracy", 0.5, [0.5, 0.45, 0.48]), WORD_SWAP) == {}
