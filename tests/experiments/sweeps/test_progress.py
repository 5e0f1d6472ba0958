"""What is shown of runs: while a sweep lasts, and by `runs`."""

from experiments.cli import main
from experiments.records import durable, run_directory
from experiments.sweeps.progress import Progress, run_line
from experiments.sweeps.status import state_in_words


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


def test_the_state_of_each_run(tmp_path, capsys):
    states = {
        "a-00000001": {},
        "b-00000001": {"state": "running", "tokens": 7, "budget_tokens": 9},
        "c-00000001": {"state": "failed", "error": "why", "log": "log.txt"},
    }
    for name, status in states.items():
        run = tmp_path / "runs" / name
        run.mkdir(parents=True)
        durable.write_json(run / run_directory.RUN, {"name": name})
        if status:
            durable.write_json(run / run_directory.STATUS, status)
    assert main(["runs", str(tmp_path)]) == 0
    shown = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    assert [path for path, _ in shown] == [str(tmp_path / "runs" / name) for name in states]
    assert [words for _, words in shown] == ["pending", "resumable at token 7", "failed: why (log: log.txt)"]
    assert main(["runs", str(tmp_path / "b")]) == 0
    assert capsys.readouterr().out.splitlines() == ["\t".join(shown[1])]
    assert state_in_words(run_directory.RunState("running", 1500, 9000, 120.4)) == (
        "running: 1,500 of 9,000 tokens, 120/s"
    )
