"""`runs` shows the state of each run."""

from experiments.cli import main
from experiments.records import durable, run_directory
from experiments.sweeps.status import state_in_words


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
    assert state_in_words(run_directory.RunState("running")) == "running: starting"
    assert state_in_words(run_directory.RunState("running", 1500, 9000, 120.4)) == (
        "running: 1,500 of 9,000 tokens, 120/s"
    )
