import pytest

from analysis.records.factors import varying_factors
from analysis.records.read_results import read_results
from analysis.statistics.factor_effects import interactions, lines
from analysis.statistics.intervals import paired_difference
from analysis.statistics.item_errors import final_scores
from analysis.tables.factors import (
    best_settings_table,
    factor_differences_table,
    factor_scores_table,
    interactions_table,
)
from analysis.tables.published import MASK_RATE, MIX
from tests.support.declarations import declaration
from tests.support.effects import crossed_grid
from tests.support.grids import MLM, masked, on_text

WORD_SWAP = declaration("word_swap/accuracy")


@pytest.fixture
def rates(builder):
    for rate, half in ((0.5, 20_000), (0.15, 9_000), (0.33, 10_000)):
        for seed in range(3):
            builder.run(on_text(masked(rate, arm=f"mlm-{rate}"), half), seed)
    return read_results(builder.finish(reference="mlm-0.15"))


def test_mask_rate_table_is_ordered_and_has_published_numbers_beside_ours(rates):
    (factor,) = varying_factors(rates)
    table = factor_scores_table(rates, factor, [WORD_SWAP])
    assert table.name == "mask_rate" and [row[0] for row in table.rows] == ["15 %", "33 %", "50 %"]
    assert table.header[-4:] == ["published: MNLI", "published: QNLI", "published: QQP", "published: SST-2"]
    assert table.rows[0][-4:] == (84.2, 90.9, 87.8, 93.3)
    assert all(str(value) == "missing (not in the paper)" for value in table.rows[1][-4:])
    assert table.rows[2][-4:] == (84.1, 91.1, 88.1, 92.7)


def test_mask_rate_differences_are_paired_by_seed_and_taken_from_the_reference(rates):
    arms = {arm.name: arm for arm in rates.arms}
    factors = varying_factors(rates)
    table = factor_differences_table(factors[0], lines(rates, factors, factors[0]), [WORD_SWAP])
    assert table.name == "mask_rate_differences"
    assert [row[1] for row in table.rows] == ["mlm-0.33 − mlm-0.15", "mlm-0.5 − mlm-0.15"]
    for row, name in zip(table.rows, ("mlm-0.33", "mlm-0.5"), strict=True):
        assert row[2] == paired_difference(
            final_scores(arms[name], WORD_SWAP), final_scores(arms["mlm-0.15"], WORD_SWAP)
        )
    assert table.rows[1][-1] == "all"


def test_tables_with_an_unfinished_arm(builder):
    builder.run(on_text(MLM, 9_000), 0)
    builder.run(on_text(masked(0.3, arm="mlm-30"), 9_000), 0, tokens=5_000, state="interrupted")
    group = read_results(builder.finish())
    factors = varying_factors(group)
    table = factor_scores_table(group, factors[0], [WORD_SWAP])
    assert "resumable at 5,000" in str(table.rows[1][3])
    (row,) = factor_differences_table(factors[0], lines(group, factors, factors[0]), [WORD_SWAP]).rows
    assert "resumable at 5,000" in str(row[2]) and row[-1] == "nothing"
    (row,) = best_settings_table(factors[0], lines(group, factors, factors[0]), [WORD_SWAP]).rows
    assert "resumable at 5,000" in str(row[2])


def test_mix_table_translates_the_papers_order_mask_same_random(builder):
    for mix in ("80/10/10", "80/20/0", "80/0/20"):
        builder.run(on_text(masked(mix=mix, arm=mix), 9_000), 0)
    group = read_results(builder.finish())
    (factor,) = varying_factors(group)
    table = factor_scores_table(group, factor, [WORD_SWAP])
    assert table.name == "corruption_mix"
    # Table 8 of BERT prints mask/same/random: 80/0/20 has MNLI 84.1, and is our 80/20/0.
    assert [(row[0], row[-3]) for row in table.rows] == [
        ("80/10/10", 84.2),
        ("80/20/0", 84.1),
        ("80/0/20", 84.4),
    ]


def test_tables_of_a_grid_over_learning_rate_width_and_arm(builder):
    group = crossed_grid(builder)
    factors = varying_factors(group)
    best = best_settings_table(factors[0], lines(group, factors, factors[0]), [WORD_SWAP])
    assert best.name == "learning_rate_best" and best.header[2] == "best learning rate"
    assert [row[:3] for row in best.display] == [
        [f"width {width}; {arm}", "word-swap accuracy", "0.001"] for width in (64, 128) for arm in ("clm", "mlm")
    ]
    table = interactions_table(interactions(group, factors), [WORD_SWAP])
    assert {row[0] for row in table.rows} == {"learning rate × width", "learning rate × arm", "width × arm"}
    assert {row[-1] for row in table.rows} == {"nothing"}


def test_published_tables_have_a_score_for_every_metric():
    for source in (MIX, MASK_RATE):
        assert all(len(row) == len(source.metrics) for row in source.scores.values())
    assert all(sum(map(float, mix.split("/"))) == pytest.approx(100) for mix in MIX.scores)
    assert len(MIX.scores) == 6
