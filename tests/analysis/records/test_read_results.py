from dataclasses import replace

import pytest

from analysis.records.read_results import read_results
from experiments.records import run_directory
from tests.support.declarations import declaration
from tests.support.grids import CLM, MLM, GridBuilder, minimal, write_pair, write_run


def test_full_pair_is_what_write_pair_wrote(tmp_path):
    results = read_results(write_pair(GridBuilder(tmp_path / "g"), seeds=1))
    assert [run.name for run in results.runs] == ["clm-s0", "mlm-s0"]
    assert run_directory.read_runs(results.directory)[0]["arm"] == "clm"


def test_runs_without_a_plan_are_found(tmp_path):
    write_run(tmp_path / "runs" / "a", minimal(CLM), 0)
    write_run(tmp_path / "runs" / "b", minimal(MLM), 0)
    assert len(read_results(tmp_path).arms) == 2


def test_one_arm_and_seed_twice_is_refused(tmp_path):
    for grid in ("a", "b"):
        write_run(tmp_path / grid / "run", minimal(CLM), 0)
    with pytest.raises(ValueError, match="one grid at a time"):
        read_results(tmp_path)


def test_a_last_value_that_is_not_finite_is_no_final_score(builder):
    builder.run(replace(CLM, quantities={"word_swap/accuracy": lambda t, s: float("nan") if t > 20_000 else 0.6}), 0)
    assert str(read_results(builder.finish()).runs[0].final_score(declaration("word_swap/accuracy"))).startswith(
        "missing ("
    )
