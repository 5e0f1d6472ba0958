from dataclasses import replace

import pytest

from analysis.records.results import load
from analysis.records.run_records import Missing
from analysis.statistics.compare import against_baseline
from analysis.statistics.intervals import Interval, paired_difference
from analysis.tables.factors import FACTORS, differences, scores
from analysis.tables.final_scores import densities
from analysis.tables.published import MASK_RATE, MIX
from analysis.tables.table import Column, Table, show, si
from tests.support.grids import CLM, MLM, yardsticks

RATE, MIXES = FACTORS
QUANTITY = "word_swap/accuracy"


@pytest.mark.parametrize("blank", [None, ""])
def test_a_blank_cell_is_an_error(blank):
    with pytest.raises(ValueError, match="blank"):
        Table("t", "", (Column("a"), Column("b")), [("x", blank)])


def test_a_short_row_is_an_error():
    with pytest.raises(ValueError):
        Table("t", "", (Column("a"), Column("b")), [("x",)])


def test_missing_is_shown_and_written_with_its_reason(tmp_path):
    columns = (Column("a"), Column("x", "score", True))
    table = Table("t", "", columns, [("r", Missing("why")), ("s", Interval(0.5, None, None, 1))])
    assert table.display == [["r", "missing (why)"], ["s", "0.500 [one seed]"]]
    lines = table.write(tmp_path).read_text().splitlines()
    assert lines == [
        "a,x,x low,x high,x n",
        "r,missing (why),missing (why),missing (why),0",
        "s,0.5,missing (one seed),missing (one seed),1",
    ]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (999.4, "999"),
        (1000, "1k"),
        (1_234_567, "1.23M"),
        (999_999, "1M"),
        (3.4e12, "3.4T"),
        (2e21, "2e+03E"),
    ],
)
def test_si(value, text):
    assert si(value) == text


def test_styles():
    assert show(Interval(-0.1234, -0.2, 0.05, 3), "signed") == "−0.123 [−0.200, +0.050]"
    assert show(1_234_567, "count") == "1,234,567"
    assert show(2.5, "ratio") == "2.50"


@pytest.fixture
def rates(builder):
    for rate, half in ((0.5, 20_000), (0.15, 9_000), (0.33, 10_000)):
        for seed in range(3):
            builder.run(yardsticks(replace(MLM, arm=f"mlm-{rate}", mask_rate=rate), half), seed)
    return load(builder.finish())


def test_mask_rate_table_is_ordered_and_has_published_numbers_beside_ours(rates):
    table = scores(RATE, RATE.arms(rates), [QUANTITY])
    assert [row[0] for row in table.rows] == ["15 %", "33 %", "50 %"]
    assert table.header[-4:] == ["published: MNLI", "published: QNLI", "published: QQP", "published: SST-2"]
    assert table.rows[0][-4:] == (84.2, 90.9, 87.8, 93.3)
    assert all(str(cell) == "missing (not in the paper)" for cell in table.rows[1][-4:])
    assert table.rows[2][-4:] == (84.1, 91.1, 88.1, 92.7)


def test_mask_rate_differences_are_paired_by_seed(rates):
    arms = {arm.name: arm for arm in rates.arms}
    table = differences(RATE, RATE.arms(rates), against_baseline(rates), [QUANTITY])
    assert [row[1] for row in table.rows] == ["mlm-0.33 − mlm-0.15", "mlm-0.5 − mlm-0.15"]
    for row, name in zip(table.rows, ("mlm-0.33", "mlm-0.5"), strict=True):
        assert row[2] == paired_difference(arms[name].finals(QUANTITY), arms["mlm-0.15"].finals(QUANTITY))
    assert table.rows[1][-1] == "all"


def test_mask_rate_table_with_an_unfinished_arm(builder):
    builder.run(yardsticks(MLM, 9_000), 0)
    builder.run(yardsticks(replace(MLM, arm="mlm-30", mask_rate=0.3), 9_000), 0, tokens=5_000, state="interrupted")
    grid = load(builder.finish())
    table = scores(RATE, RATE.arms(grid), [QUANTITY])
    assert "resumable at 5,000" in str(table.rows[1][3])
    (row,) = differences(RATE, RATE.arms(grid), against_baseline(grid), [QUANTITY]).rows
    assert "resumable at 5,000" in str(row[2]) and row[-1] == "nothing"


def test_mix_table_keeps_the_papers_order_of_mask_same_random_straight(builder):
    for mix in ([0.8, 0.1, 0.1], [0.8, 0.2, 0.0], [0.8, 0.0, 0.2]):
        builder.run(yardsticks(replace(MLM, arm=str(mix), mix=mix), 9_000), 0)
    grid = load(builder.finish())
    table = scores(MIXES, MIXES.arms(grid), [QUANTITY])
    # Table 8 of BERT prints mask/same/random: 80/0/20 has MNLI 84.1, and is our 80/20/0.
    assert [(row[0], row[-3]) for row in table.rows] == [
        ("80/10/10", 84.2),
        ("80/20/0", 84.1),
        ("80/0/20", 84.4),
    ]
    assert not RATE.arms(grid)


def test_published_tables_have_a_score_for_every_metric():
    for source in (MIX, MASK_RATE):
        assert all(len(row) == len(source.metrics) for row in source.scores.values())
    assert all(sum(mix) == pytest.approx(1) for mix in MIX.scores)
    assert len(MIX.scores) == 6


def test_density_nominal_and_realised(builder):
    builder.run(yardsticks(CLM, 9_000), 0)
    builder.run(yardsticks(MLM, 9_000), 0, tokens=20_000, state="interrupted")
    builder.pending(replace(MLM, arm="later"), 0)
    clm, mlm, later = densities(load(builder.finish())).rows
    assert clm[2] == 0.99 and clm[3].mean == pytest.approx(0.99)
    assert clm[4].mean == pytest.approx(1e9 * 0.99 / (3e6 + 2e6 * 0.99))
    assert mlm[5:] == (20_000, 3_000)
    assert str(later[3]) == "missing (nothing recorded)"
