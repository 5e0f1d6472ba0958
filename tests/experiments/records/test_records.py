"""What is on disk stays whole, and says where a run stands."""

import pytest
import torch
from filelock import FileLock

from experiments.records import durable, metrics_file, run_directory
from experiments.sweeps.progress import Progress, run_line
from experiments.sweeps.status import state_in_words
from experiments.training.checkpoint_files import DurableCheckpointIO, complete

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


def test_checkpoints_come_back_and_a_flipped_bit_is_noticed(tmp_path):
    files = DurableCheckpointIO()
    path = tmp_path / "step-1.ckpt"
    files.save_checkpoint({"weights": torch.arange(1000)}, path)
    assert torch.equal(files.load_checkpoint(path)["weights"], torch.arange(1000))
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    with pytest.raises(ValueError, match="damaged"):
        files.load_checkpoint(path)


def test_a_checkpoint_without_its_hash_does_not_count(tmp_path):
    files = DurableCheckpointIO()
    for step in (1, 2):
        files.save_checkpoint({"step": step}, tmp_path / f"step-{step}.ckpt")
    (tmp_path / "step-2.ckpt.sha256").unlink()
    assert [path.name for path in complete(tmp_path)] == ["step-1.ckpt"]
    with pytest.raises(ValueError, match="no finished checkpoint"):
        files.load_checkpoint(tmp_path / "step-2.ckpt")
    files.remove_checkpoint(tmp_path / "step-1.ckpt")
    assert complete(tmp_path) == []


def test_a_save_that_fails_leaves_nothing_that_counts(tmp_path):
    with pytest.raises(Exception, match="pickle"):
        DurableCheckpointIO().save_checkpoint({"no": lambda: None}, tmp_path / "a.ckpt")
    assert list(tmp_path.iterdir()) == []


def test_progress_lines(tmp_path, capsys):
    run = tmp_path / "mlm-s1-abc"
    run.mkdir()
    assert run_line(run) == "  mlm-s1-abc: starting"
    status = {"state": "running", "tokens": 500, "budget_tokens": 2000, "tokens_per_second": 100.0}
    durable.write_json(run / run_directory.STATUS, status)
    assert run_line(run) == "  mlm-s1-abc: 500 of 2,000 tokens (25%), 100 tokens/s, 15 s of training left"
    progress = Progress(total=3)
    progress.shown -= 60
    progress.show([run], {tmp_path / "other": "failed"}, pending=1)
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == run_line(run)
    assert lines[1].startswith("0 of 3 runs done, 1 running, 1 to go, 1 failed")
    progress = Progress(total=5, done=2)
    progress.shown -= 60
    progress.show([run], {tmp_path / "other": "done", tmp_path / "third": "interrupted"}, pending=0)
    assert "3 of 5 runs done" in capsys.readouterr().err
    durable.write_json(run / run_directory.STATUS, {**status, "state": "failed", "error": "why", "log": "log.txt"})
    progress.finished(run, "failed")
    assert capsys.readouterr().err == "mlm-s1-abc failed: why (log: log.txt)\n"
