"""The files of a run say where it stands; a name says which run is meant."""

import pytest
from filelock import FileLock

from experiments.records import durable, run_directory
from experiments.records.proof import TrainingProof, write_done
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
    for ended in ("diverged", "failed"):
        durable.write_json(tmp_path / run_directory.STATUS, {**status, "state": ended})
        assert run_directory.run_state(tmp_path).state == ended
    write_done(tmp_path, TrainingProof())
    assert state_in_words(run_directory.run_state(tmp_path)) == "done"


@pytest.mark.parametrize("content", ["{", "[]", "null", '{"tokens": "x"}', ""])
def test_a_damaged_status_does_not_hide_a_run(content, tmp_path):
    (tmp_path / run_directory.STATUS).write_text(content)
    assert run_directory.run_state(tmp_path).tokens == 0
    assert state_in_words(run_directory.run_state(tmp_path)) in ("pending", "resumable at token 0")


@pytest.mark.parametrize(("content", "words"), [("{", "not valid JSON"), ("[]", "no JSON object")])
def test_a_damaged_run_json_is_named(content, words, tmp_path):
    (tmp_path / run_directory.RUN).write_text(content)
    (record,) = run_directory.read_runs(tmp_path)
    assert record["directory"] == "." and "run.json" in record["damage"] and words in record["damage"]


def test_an_end_that_says_nothing_is_damage(tmp_path):
    (tmp_path / run_directory.DONE).touch()
    state = run_directory.run_state(tmp_path)
    assert state.state == "damaged" and "DONE is damaged" in state_in_words(state)


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


@pytest.mark.parametrize(
    "planned", [[], [{"directory": "../.."}], [{"directory": "runs/.."}], [{"directory": "a"}], [3]]
)
def test_a_plan_that_leads_elsewhere_is_not_followed(planned, tmp_path, capsys):
    make_run(tmp_path / "runs" / "a-1")
    durable.write_json(tmp_path / run_directory.PLAN, planned)
    assert [run["directory"] for run in run_directory.read_runs(tmp_path)] == ["runs/a-1"]
    assert "plan.json is damaged" in capsys.readouterr().err


def test_a_plan_knows_the_place_of_a_run_better_than_the_run(tmp_path):
    run = make_run(tmp_path / "runs" / "a-1")
    planned = {"name": "a", "arm": "b; c", "seed": 3, "factors": {"d": "b"}, "title": "t", "directory": "runs/a-1"}
    durable.write_json(tmp_path / run_directory.PLAN, [{**planned, "budget_tokens": 1}])
    durable.write_json(run / run_directory.RUN, {"arm": "a-1", "factors": {}, "title": "", "budget_tokens": 5})
    assert run_directory.read_runs(tmp_path) == [{**planned, "budget_tokens": 5}]


@pytest.mark.parametrize("recorded", ["DONE", "metrics.csv"])
def test_a_run_that_has_begun_and_does_not_say_what_it_is_is_damaged(recorded, tmp_path):
    durable.write_json(tmp_path / run_directory.PLAN, [{"name": "a", "directory": "runs/a-1"}])
    (tmp_path / "runs" / "a-1").mkdir(parents=True)
    assert "damage" not in run_directory.read_runs(tmp_path)[0]
    (tmp_path / "runs" / "a-1" / recorded).touch()
    assert "run.json is missing; restore it from a copy" in run_directory.read_runs(tmp_path)[0]["damage"]


def make_run(path):
    path.mkdir(parents=True)
    durable.write_json(path / run_directory.RUN, {"name": path.name})
    return path


def test_a_run_by_name(tmp_path, monkeypatch):
    run = make_run(tmp_path / "grid" / "runs" / "CLM-s1-0123abcd")
    make_run(tmp_path / "grid" / "runs" / "CLM-s11-0123abcd")
    for name in (run, tmp_path / "grid" / "CLM-s1", tmp_path / "grid" / "runs" / "CLM-s1", str(run.parent / "CLM-s1/")):
        assert run_directory.find_run(name) == run
    monkeypatch.chdir(run.parent)
    assert run_directory.find_run("CLM-s1").resolve() == run
    monkeypatch.chdir(tmp_path / "grid")
    assert run_directory.find_run("CLM-s1").resolve() == run
    for name in ("CLM", "CLM-s1-0123", "MLM-s1", ".", "", "nowhere/CLM-s1", "*"):
        assert run_directory.find_run(name) is None


def test_a_name_without_hash_needs_one_run(tmp_path):
    runs = tmp_path / "runs"
    make_run(runs / "a-00000001")
    (runs / "a-00000002").mkdir()  # no run
    assert run_directory.find_run(tmp_path / "a") == runs / "a-00000001"
    make_run(runs / "a-00000003")
    with pytest.raises(ValueError, match=r"a-00000001, .*a-00000003"):
        run_directory.find_run(tmp_path / "a")


def test_a_directory_of_that_name_comes_first_where_a_grid_may_be_meant(tmp_path):
    run = make_run(tmp_path / "runs" / "a-00000001")
    assert run_directory.grid_or_run(tmp_path / "a") == run
    assert run_directory.grid_or_run(tmp_path / "b") == tmp_path / "b"
    (tmp_path / "a").mkdir()
    assert run_directory.grid_or_run(tmp_path / "a") == tmp_path / "a"
