"""What is on disk stays whole, and says where a run stands."""

import pytest
from filelock import FileLock

from experiments.records import durable, metrics_file, run_directory
from experiments.sweeps.status import state_in_words

ROWS = [
    metrics_file.Row(step, step * 64, step * 10, 1.5e9 * step, 0.1 * step, quantity, 1 / (3 + step))
    for step in (1, 2, 3)
    for quantity in ("train/loss", "validation/loss")
]


def test_rows_come_back_exactly(tmp_path):
    metrics_file.append_rows(tmp_path / metrics_file.METRICS, ROWS[:2])
    metrics_file.append_rows(tmp_path / metrics_file.METRICS, ROWS[2:])
    assert metrics_file.read_metrics(tmp_path) == ROWS


def test_rows_after_a_step_are_dropped(tmp_path):
    metrics_file.append_rows(tmp_path / metrics_file.METRICS, ROWS)
    metrics_file.drop_after(tmp_path, 2)
    assert metrics_file.read_metrics(tmp_path) == ROWS[:4]
    metrics_file.append_rows(tmp_path / metrics_file.METRICS, ROWS[4:])
    assert metrics_file.read_metrics(tmp_path) == ROWS


def test_hashes_of_the_stream_come_back_and_are_cut_with_the_values(tmp_path):
    hashes = [metrics_file.StreamHash(step, f"{step:016x}") for step in (1, 2, 3)]
    metrics_file.append_rows(tmp_path / metrics_file.METRICS, ROWS)
    metrics_file.append_rows(tmp_path / metrics_file.STREAM, hashes)
    assert metrics_file.read_stream(tmp_path) == {1: "0" * 15 + "1", 2: "0" * 15 + "2", 3: "0" * 15 + "3"}
    metrics_file.drop_after(tmp_path, 1)
    assert metrics_file.read_stream(tmp_path) == {1: "0" * 15 + "1"}
    metrics_file.append_rows(tmp_path / metrics_file.STREAM, hashes[1:])
    assert len(metrics_file.read_stream(tmp_path)) == 3
    metrics_file.drop_after(tmp_path, 0)
    assert metrics_file.read_stream(tmp_path) == {} and metrics_file.read_metrics(tmp_path) == []
    metrics_file.append_rows(tmp_path / metrics_file.METRICS, ROWS)
    assert metrics_file.read_metrics(tmp_path) == ROWS


def test_a_torn_last_line_is_left_out(tmp_path):
    path = tmp_path / metrics_file.METRICS
    metrics_file.append_rows(path, ROWS)
    path.write_text(path.read_text()[:-9])
    assert metrics_file.read_metrics(tmp_path) == ROWS[:-1]
    metrics_file.drop_after(tmp_path, 3)
    metrics_file.append_rows(path, ROWS[-1:])
    assert metrics_file.read_metrics(tmp_path) == ROWS


def test_a_damaged_line_and_a_foreign_file_are_refused(tmp_path):
    path = tmp_path / metrics_file.METRICS
    metrics_file.append_rows(path, ROWS)
    path.write_text(path.read_text().replace(",64,", ",sixty-four,", 1))
    with pytest.raises(ValueError, match="line 2 is damaged"):
        metrics_file.read_metrics(tmp_path)
    path.write_text("a,b\n1,2\n")
    with pytest.raises(ValueError, match="not written by this program"):
        metrics_file.read_metrics(tmp_path)


def test_a_failed_write_leaves_the_old_file(tmp_path):
    path = tmp_path / "file"
    durable.write_text(path, "old")
    with pytest.raises(RuntimeError), durable.replacing(path) as temporary:
        temporary.write_text("half")
        raise RuntimeError
    assert path.read_text() == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["file"]


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
def test_a_broken_cell_is_named(content, words, tmp_path):
    (tmp_path / run_directory.RUN).write_text(content)
    with pytest.raises(ValueError, match=rf"cell\.json.*{words}|{words}"):
        run_directory.read_runs(tmp_path)


def test_cells_of_a_grid_of_a_run_and_of_nothing(tmp_path):
    run = tmp_path / "runs" / "a-1"
    run.mkdir(parents=True)
    durable.write_json(run / run_directory.RUN, {"name": "a", "budget_tokens": 5})
    assert run_directory.read_runs(tmp_path) == [{"name": "a", "budget_tokens": 5, "directory": "runs/a-1"}]
    assert run_directory.read_runs(run) == [{"name": "a", "budget_tokens": 5, "directory": "."}]
    planned = [{"name": "a", "directory": "runs/a-1"}, {"name": "b", "directory": "runs/b-2"}]
    durable.write_json(tmp_path / run_directory.PLAN, planned)
    assert [cell.get("budget_tokens") for cell in run_directory.read_runs(tmp_path)] == [5, None]
    with pytest.raises(ValueError, match="no directory"):
        run_directory.read_runs(tmp_path / "nowhere")


def test_content_hash_ignores_the_order_of_keys():
    assert durable.content_hash({"a": 1, "b": [1, 2]}) == durable.content_hash({"b": [1, 2], "a": 1})
    assert durable.content_hash({"a": 1}) != durable.content_hash({"a": 2})
