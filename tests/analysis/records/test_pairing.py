from dataclasses import replace

import pytest

from analysis.records.pairing import Unpaired, mismatches, require_paired
from analysis.records.read_results import read_results
from analysis.statistics.compare import compare
from experiments.records import metrics_file, run_directory
from tests.support.grids import CLM, MLM, SNAPSHOTS, on_text, prove_again


def pair(builder, **changes):
    for seed in range(2):
        builder.run(on_text(CLM, 8_000), seed)
        builder.run(on_text(replace(MLM, **(changes if seed == 1 else {})), 30_000), seed)
    return read_results(builder.finish()).arms


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


def test_a_warm_start_is_not_paired_with_a_cold_one_and_says_why(builder):
    clm, mlm = pair(builder, pairing={"encoder": "other", "start": "0123abcd"})
    why = r"they start mlm-s1 from those of run 0123abcd, clm-s1 from its seed"
    with pytest.raises(Unpaired, match=f"initial encoder weights of mlm-s1 and clm-s1: differs, .* \\({why}\\)"):
        require_paired(mlm, clm)
    assert "is ahead" not in compare(mlm, clm).verdict(mlm.runs[0].declared.quantities["word_swap/accuracy"])


def test_two_warm_starts_from_the_same_weights_are_paired(builder):
    warm = {"encoder": "trained", "start": "0123abcd"}
    builder.run(on_text(replace(CLM, pairing=warm), 8_000), 0)
    builder.run(on_text(replace(MLM, pairing=warm), 30_000), 0)
    clm, mlm = read_results(builder.finish()).arms
    assert require_paired(mlm, clm) == [0]


def test_differing_stream_is_refused_from_its_first_step_on(builder):
    clm, mlm = pair(builder, stream=8)
    where = f"stream of text of mlm-s1 and clm-s1: differs from step {SNAPSHOTS[0] // 1000} "
    with pytest.raises(Unpaired, match=where):
        require_paired(mlm, clm)


def test_stream_that_parts_ways_late(builder):
    run = builder.run(on_text(CLM, 8_000), 0)
    builder.run(on_text(MLM, 30_000), 0)
    stream = run / metrics_file.STREAM
    stream.write_text(stream.read_text().replace(f"{27_000:016x}", f"{27_001:016x}"))
    prove_again(run)
    clm, mlm = read_results(builder.finish()).arms
    (found,) = mismatches(mlm.runs[0], clm.runs[0])
    assert "from step 20 on" in found.detail


def test_unrecorded_hashes_are_refused(builder):
    run = builder.run(on_text(CLM, 8_000), 0)
    builder.run(on_text(MLM, 30_000), 0)
    (run / run_directory.PAIRING).unlink()
    (run / metrics_file.STREAM).unlink()
    prove_again(run)
    clm, mlm = read_results(builder.finish()).arms
    for what in ("tokenizer", "stream of text"):
        with pytest.raises(Unpaired, match=f"{what} of mlm-s0 and clm-s0: not recorded by clm-s0"):
            require_paired(mlm, clm)


def test_no_common_step_is_no_proof(builder):
    run = builder.run(on_text(CLM, 8_000), 0)
    builder.run(on_text(MLM, 30_000), 0)
    stream = run / metrics_file.STREAM
    header, *lines = stream.read_text().splitlines()
    stream.write_text("\n".join([header, *(f"9{line}" for line in lines)]) + "\n")
    prove_again(run)
    clm, mlm = read_results(builder.finish()).arms
    with pytest.raises(Unpaired, match="no step at which both recorded"):
        require_paired(mlm, clm)
