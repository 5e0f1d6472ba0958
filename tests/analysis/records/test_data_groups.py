from dataclasses import replace

import pytest

from analysis.records.data_groups import UNKNOWN
from analysis.records.read_results import read_results
from analysis.sections.compose import compose
from analysis.statistics.compare import comparisons
from tests.support.grids import CLM, MLM, in_language, masked, minimal


def test_arms_fall_into_data_groups_and_are_named_by_what_is_left(two_data_groups):
    results = read_results(two_data_groups)
    assert [(group.group_name, [arm.name for arm in group.arms]) for group in results.data_groups] == [
        ("known rules", ["clm", "mlm"]),
        ("King James", ["clm", "mlm"]),
    ]
    assert len(results.arms) == 4 and all(group.data_groups == [group] for group in results.data_groups)
    assert results.data_groups[1].quantities != results.data_groups[0].quantities


def test_corpora_alone_make_data_groups(builder):
    for corpus in ("KingJames", "PeoplesDaily"):
        for plan in (CLM, MLM):
            arm, pairing = f"{plan.arm} {corpus}", {"data": corpus}
            builder.run(replace(minimal(plan), arm=arm, corpus=corpus, pairing=pairing), 0)
    results = read_results(builder.finish())
    assert [group.group_name for group in results.data_groups] == ["KingJames", "PeoplesDaily"]
    assert [c.names for c in comparisons(results)] == [f"mlm {c} − clm {c}" for c in ("KingJames", "PeoplesDaily")]


def test_two_corpora_of_one_language_are_two_data_groups(builder):
    builder.run(in_language(CLM, "English", corpus="KingJames"), 0)
    builder.run(replace(in_language(CLM, "English", corpus="LocalText"), arm="other"), 0)
    results = read_results(builder.finish())
    assert [group.group_name for group in results.data_groups] == ["English (KingJames)", "English (LocalText)"]


def test_an_arm_that_has_not_begun_is_with_the_others_of_its_language(builder):
    builder.run(in_language(CLM, "English"), 0)
    builder.pending(in_language(MLM, "English"), 0)
    builder.pending(in_language(CLM, "Chinese"), 0)
    results = read_results(builder.finish())
    assert [(group.group_name, len(group.arms)) for group in results.data_groups] == [("English", 2), ("Chinese", 1)]
    document = compose(results, [], "tokens", True)
    assert "Chinese: No run has recorded anything yet." in document.summary


def test_an_arm_of_which_nothing_is_known_is_compared_with_none(builder):
    for corpus in ("KingJames", "PeoplesDaily"):
        builder.run(replace(minimal(CLM), arm=corpus, corpus=corpus, factors={}), 0)
    builder.pending(replace(minimal(MLM), factors={}), 0)
    results = read_results(builder.finish())
    assert [group.group_name for group in results.data_groups] == ["KingJames", "PeoplesDaily", UNKNOWN]
    assert comparisons(results) == []


@pytest.mark.parametrize("reference", ["English; 0.3", "0.3"])
def test_a_named_reference_stands_for_its_like_in_every_data_group(reference, builder):
    for language, corpus in (("English", "KingJames"), ("Chinese", "PeoplesDaily")):
        for rate in (0.2, 0.3):
            plan = masked(rate, arm=f"{rate}")
            builder.run(in_language(plan, language, corpus=corpus), 0)
    results = read_results(builder.finish(reference=reference))
    assert [c.names for c in comparisons(results)] == ["0.2 − 0.3"] * 2
