"""What a sweep says while it runs."""

from experiments.records import durable, run_directory
from experiments.sweeps.progress import Progress, run_line


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
