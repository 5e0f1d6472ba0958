from dataclasses import replace

import pytest

from analysis.records.read_results import read_results
from experiments.records import run_directory
from experiments.records.quantities import QUANTITIES, Quantity
from tests.support.declarations import declaration
from tests.support.grids import CLM, MLM, GridBuilder, minimal, rising, write_pair, write_run


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
    (run,) = read_results(builder.finish()).runs
    assert str(run.final_score(declaration("word_swap/accuracy"))).startswith("missing (")


def test_what_is_recorded_has_to_be_declared(builder):
    run = builder.run(minimal(CLM), 0)
    (run / QUANTITIES).unlink()
    (found,) = read_results(builder.finish()).runs
    assert found.state.state == "damaged" and not found.series
    assert "word_swap/accuracy without declaring it" in found.state.error and "evaluate" in found.state.error


def test_a_run_in_progress_may_declare_what_it_records_a_moment_later(builder):
    run = builder.run(minimal(CLM), 0, tokens=5_000, state="interrupted")
    (run / QUANTITIES).unlink()
    assert read_results(builder.finish()).quantities == []


@pytest.mark.parametrize(
    "changed", [{"unit": "bits"}, {"scale": "log"}, {"better": "lower"}, {"comparable": "question"}]
)
def test_one_name_declared_differently_by_two_runs_is_refused(builder, changed):
    mine = Quantity("my/score", "my score", "points", "higher", "all")
    for seed, quantity in enumerate((mine, replace(mine, **changed))):
        builder.run(replace(CLM, quantities={"my/score": rising(1, 2, 9_000)}, declared=(quantity,)), seed)
    with pytest.raises(ValueError, match=f"clm-s0 and clm-s1 declare {next(iter(changed))} of my/score differently"):
        read_results(builder.finish())


def test_traits_and_declarations_of_a_run(pair_grid):
    mlm = read_results(pair_grid).arms[1]
    assert mlm.traits.numeric == {"mask rate": 0.15} and mlm.traits.categorical == {"corruption mix": "80/10/10"}
    assert mlm.traits.question == "masked tokens (15 %, 80/10/10)"
    assert mlm.runs[0].metric(declaration("word_swap/accuracy")).class_path == "experiments.evaluation.WordSwap"
    assert mlm.runs[0].metric(declaration("train/loss")) is None


def test_title_and_reference_are_read_as_they_are_written(builder):
    builder.run(minimal(CLM), 0)
    directory = builder.finish()
    (directory / run_directory.GRID).write_text("title: 2024-01-01\nreference: 0.10\n")
    results = read_results(directory)
    assert (results.title, results.reference_name) == ("2024-01-01", "0.10")
    (directory / run_directory.GRID).write_text("title:\nreference:\n")
    results = read_results(directory)
    assert (results.title, results.reference_name) == (directory.name, None)
