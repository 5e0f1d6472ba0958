from dataclasses import replace

import pytest

from analysis.records.pairing import Unpaired, mismatches, require_paired
from analysis.records.results import load
from analysis.records.run_records import Missing
from analysis.sections.compose import compose
from analysis.statistics.compare import compare, comparisons
from analysis.statistics.thresholds import Threshold
from analysis.tables.convergence import ratio_cell
from experiments.records import metrics_file, run_directory
from tests.support.grids import CLM, MLM, SNAPSHOTS, yardsticks

QUANTITY = "word_swap/accuracy"


def pair(builder, **changes):
    for seed in range(2):
        builder.run(yardsticks(CLM, 8_000), seed)
        builder.run(yardsticks(replace(MLM, **(changes if seed == 1 else {})), 30_000), seed)
    return load(builder.finish()).arms


def test_paired_arms_pass(builder):
    clm, mlm = pair(builder)
    assert require_paired(mlm, clm) == [0, 1]


@pytest.mark.parametrize(
    ("key", "what"),
    [
        ("encoder", "initial encoder weights"),
        ("tokenizer", "tokenizer"),
        ("data", "packed data"),
        ("world_size", "world size"),
    ],
)
def test_one_differing_hash_refuses_and_names_it_and_the_runs(builder, key, what):
    clm, mlm = pair(builder, pairing={key: "other"})
    with pytest.raises(Unpaired, match=f"{what} of mlm-s1 and clm-s1: differs") as refusal:
        require_paired(mlm, clm)
    assert "s0" not in str(refusal.value)


def test_differing_stream_is_refused_from_its_first_step_on(builder):
    clm, mlm = pair(builder, stream=8)
    with pytest.raises(
        Unpaired, match=f"stream of text of mlm-s1 and clm-s1: differs from step {SNAPSHOTS[0] // 1000} "
    ):
        require_paired(mlm, clm)


def test_stream_that_parts_ways_late(builder):
    run = builder.run(yardsticks(CLM, 8_000), 0)
    builder.run(yardsticks(MLM, 30_000), 0)
    text = (run / metrics_file.METRICS).read_text().replace("stream/hash,27000.0", "stream/hash,27001.0")
    (run / metrics_file.METRICS).write_text(text)
    clm, mlm = load(builder.finish()).arms
    (found,) = mismatches(mlm.cells[0], clm.cells[0])
    assert "from step 20 on" in found.detail


def test_unrecorded_hashes_are_refused(builder):
    run = builder.run(yardsticks(CLM, 8_000), 0)
    builder.run(yardsticks(MLM, 30_000), 0)
    (run / run_directory.PAIRING).unlink()
    clm, mlm = load(builder.finish()).arms
    with pytest.raises(Unpaired, match=r"tokenizer of mlm-s0 and clm-s0: not recorded by clm-s0"):
        require_paired(mlm, clm)


def test_no_common_step_is_no_proof(builder):
    run = builder.run(yardsticks(CLM, 8_000), 0)
    builder.run(yardsticks(MLM, 30_000), 0)
    lines = (run / metrics_file.METRICS).read_text().splitlines()
    moved = [
        lines[0],
        *(str(10_000 + int(line.split(",", 1)[0])) + "," + line.split(",", 1)[1] for line in lines[1:]),
    ]
    (run / metrics_file.METRICS).write_text("\n".join(moved) + "\n")
    clm, mlm = load(builder.finish()).arms
    with pytest.raises(Unpaired, match="no step at which both recorded"):
        require_paired(mlm, clm)


def test_refused_pair_has_no_statistics_and_the_report_says_so(builder):
    clm, mlm = pair(builder, pairing={"data": "other"})
    refused = compare(mlm, clm)
    assert str(refused.difference(QUANTITY)) == "missing (refused: not paired)"
    assert isinstance(ratio_cell(refused, Threshold(QUANTITY, 0.6, ""), "tokens"), Missing)
    document = compose(load(builder.directory), [], "tokens", True)
    assert any("Refused" in alert and "packed data of mlm-s1 and clm-s1" in alert for alert in document.alerts)
    assert any("refused" in line for line in document.summary)
    assert not any("ahead" in line for line in document.summary)


def test_each_mlm_arm_is_compared_with_the_clm_arm_it_shares_most_with(builder):
    for width in ("64", "128"):
        for plan in (CLM, MLM):
            name = f"{plan.arm}-{width}"
            builder.run(replace(yardsticks(plan, 8_000), arm=name, factors={**plan.factors, "width": width}), 0)
    grid = load(builder.finish())
    assert [c.names for c in comparisons(grid)] == ["mlm-64 − clm-64", "mlm-128 − clm-128"]


def test_without_a_clm_arm_the_baseline_is_the_reference(builder):
    builder.run(yardsticks(replace(MLM, arm="30", mask_rate=0.3), 8_000), 0)
    builder.run(yardsticks(replace(MLM, arm="15"), 8_000), 0)
    grid = load(builder.finish())
    assert [c.names for c in comparisons(grid)] == ["30 − 15"]


def test_the_grid_may_name_the_baseline(builder):
    for rate in (0.2, 0.3):
        builder.run(yardsticks(replace(MLM, arm=f"{rate}", mask_rate=rate), 8_000), 0)
    assert comparisons(load(builder.finish())) == []
    assert [c.names for c in comparisons(load(builder.finish(baseline="0.3")))] == ["0.2 − 0.3"]
