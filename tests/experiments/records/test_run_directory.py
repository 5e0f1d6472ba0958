"""The files of a run say where it stands."""

import pytest
from filelock import FileLock

from experiments.records import durable, run_directory
from experiments.sweeps.status import state_in_words


def test_states_of_a_run(tmp_path):
    assert run_directory.run_state(tmp_path).state == "pending"
    status = {"state": "running", "tokens": 7, "budget_tokens": 9, "tokens_per_second": 2.0, "pid": 1}
    durable.write_json(tmp_path / run_directory.STATUS, status)
    (tmp_path / run_directory.LOCK).touch()
    with FileLock(tmp_path / run_directory.LOCK):
        assert run_directory.run_state(tmp_path) == run_directory.RunState("running", 7, 9, 2.0)
    assert state_in_words(run_directory.run_state(tmp_path)) == "resumable at token 7"
    durable.write_json(tmp_path / run_directory.STATUS, {**status, "state": "failed", "error": "why", "log": "log.txt"})
    assert state_in_words(run_directory.run_state(tmp_path)) == "failed: why (log: log.txt)"
    (tmp_path / run_directory.DONE).touch()
    assert state_in_words(run_directory.run_state(tmp_path)) == "done"


@pytest.mark.parametrize("content", ["{", "[]", "null", '{"tokens": "x"}', ""])
def test_a_damaged_status_does_not_hide_a_run(content, tmp_path):
    (tmp_path / run_directory.STATUS).write_text(content)
    assert run_directory.run_state(tmp_path).tokens == 0
    assert state_in_words(run_directory.run_state(tmp_path)) in ("pending", "resumable at token 0")


@pytest.mark.parametrize(("content", "words"), [("{", "not valid JSON"), ("[]", "no JSON object")])
def test_a_damaged_run_json_is_named(content, words, tmp_path):
    (tmp_path / run_directory.RUN).write_text(content)
    with pytest.raises(ValueError, match=rf"run\.json.*{words}"):
        run_directory.read_runs(tmp_path)


def test_runs_of_a_grid_of_a_run_and_of_nothing(tmp_path):
    run = tmp_path / "runs" / "a-1"
    run.mkdir(parents=True)
    durable.write_json(run / run_directory.RUN, {"name": "a", "budget_tokens": 5})
    assert run_directory.read_runs(tmp_path) == [{"name": "a", "budget_tokens": 5, "directory": "runs/a-1"}]
    assert run_directory.read_runs(run) == [{"name": "a", "budget_tokens": 5, "directory": "."}]
    planned = [{"name": "a", "directory": "runs/a-1"}, {"name": "b", "directory": "runs/b-2"}]
    durable.write_json(tmp_path / run_directory.PLAN, planned)
    assert [run.get("budget_tokens") for run in run_directory.read_runs(tmp_path)] == [5, None]
    with pytest.raises(ValueError, match="no directory"):
        run_directory.read_runs(tmp_path / "nowhere")
