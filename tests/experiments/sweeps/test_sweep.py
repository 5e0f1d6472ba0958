"""Sweeps: failing runs, dying workers, interruption, and going on from there."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
import yaml

from experiments.cli import main
from experiments.records import durable, metrics_file, run_directory
from experiments.records.checkpoints import complete
from tests.support.tiny import METRICS, grid_base, half_done, write_text

pytestmark = pytest.mark.slow


def grid_file(path, text, arms, **overrides):
    content = {
        "title": "Test grid",
        "base": grid_base(text, **overrides),
        "axes": {"arm": arms},
        "seeds": [1],
    }
    path.write_text(yaml.safe_dump(content))
    return path


def states(directory):
    runs = run_directory.read_runs(directory)
    return {run["arm"]: run_directory.run_state(directory / run["directory"]).state for run in runs}


def test_a_failing_run_does_not_stop_the_others_and_can_be_retried(tmp_path, capfd):
    text = write_text(tmp_path / "text.txt")
    missing = tmp_path / "missing.txt"
    arms = {
        "broken": {"data.init_args.corpus.init_args.path": str(missing)},
        "clm": {"model.class_path": "objectives.CLM"},
        "mlm": {},
    }
    grid = grid_file(tmp_path / "grid.yaml", text, arms)
    write_text(missing)
    sweep = ["sweep", str(grid), "--results", str(tmp_path), "--workers", "1"]
    assert main([*sweep, "--dry-run"]) == 0
    assert capfd.readouterr().out.count("pending") == 3
    assert not (tmp_path / "grid").exists()

    missing.write_text("")
    assert main(sweep) == 1
    assert states(tmp_path / "grid") == {"broken": "failed", "clm": "done", "mlm": "done"}
    error = capfd.readouterr().err
    assert "log.txt" in error and "--retry-failed" in error
    (failed,) = (c for c in run_directory.read_runs(tmp_path / "grid") if c["arm"] == "broken")
    log = tmp_path / "grid" / failed["directory"] / run_directory.LOG
    assert "Traceback" in log.read_text()
    assert (tmp_path / "grid" / "report" / "report.html").exists()

    done = (
        tmp_path
        / "grid"
        / next(c["directory"] for c in run_directory.read_runs(tmp_path / "grid") if c["arm"] == "clm")
    )
    untouched = (done / metrics_file.METRICS).stat().st_mtime_ns
    assert main(sweep) == 1  # the failed run is not tried again by itself
    assert main(["runs", str(tmp_path / "grid")]) == 0
    assert capfd.readouterr().out.count("failed: ") == 1

    write_text(missing)
    assert main([*sweep, "--retry-failed"]) == 0
    assert set(states(tmp_path / "grid").values()) == {"done"}
    assert (done / metrics_file.METRICS).stat().st_mtime_ns == untouched


def alive(pid):
    """False for a process that has ended, or whose exit status nobody has fetched yet."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def wait_for(condition, seconds=180):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "waited too long"
        time.sleep(0.05)


def test_a_killed_worker_and_an_interrupted_sweep_lose_nothing(tmp_path):
    text = write_text(tmp_path / "text.txt")
    long = 900 * 64
    arms = {"long": {"model.init_args.budget.tokens": long}, "short": {"model.class_path": "objectives.CLM"}}
    grid = grid_file(tmp_path / "grid.yaml", text, arms, checkpoint_every_steps=20)
    command = [
        sys.executable,
        "-m",
        "experiments.cli",
        "sweep",
        str(grid),
        "--results",
        str(tmp_path),
        "--workers",
        "1",
    ]
    directory = tmp_path / "grid"

    def status():
        paths = list(directory.glob("runs/long-*/status.json"))
        return durable.read_json(paths[0]) if paths else {}

    sweep = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    wait_for(lambda: status().get("tokens", 0) > 100 * 64)
    os.kill(status()["pid"], signal.SIGKILL)
    _, error = sweep.communicate(timeout=180)
    assert sweep.returncode == 1
    assert "killed; run again to resume" in error
    assert states(directory) == {"long": "resumable", "short": "done"}

    reached = status()["tokens"]
    sweep = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    wait_for(lambda: status().get("tokens", 0) > reached and status()["state"] == "running")
    sweep.send_signal(signal.SIGINT)
    _, error = sweep.communicate(timeout=180)
    assert sweep.returncode == 130
    assert "run the same command to go on" in error
    assert states(directory)["long"] == "resumable"
    assert status()["tokens"] < long

    # A launcher that is killed takes its workers with it; they save first.
    sweep = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    reached = status()["tokens"]
    wait_for(lambda: status().get("tokens", 0) > reached and status()["state"] == "running")
    worker = status()["pid"]
    sweep.kill()
    sweep.wait()
    wait_for(lambda: not alive(worker))
    assert states(directory)["long"] == "resumable"
    assert subprocess.run(command, stderr=subprocess.DEVNULL).returncode == 0
    assert set(states(directory).values()) == {"done"}


def test_runs_as_jobs_of_a_cluster(tmp_path, capfd):
    """submitit without SLURM runs the same jobs on this machine."""
    text = write_text(tmp_path / "text.txt")
    empty = tmp_path / "empty.txt"
    empty.touch()
    broken = {"data.init_args.corpus.init_args.path": str(empty)}
    arms = {"clm": {"model.class_path": "objectives.CLM"}, "broken": broken}
    grid = grid_file(tmp_path / "grid.yaml", text, arms)
    sweep = ["sweep", str(grid), "--results", str(tmp_path), "--submitit", "timeout_min=10", "cpus_per_task=1"]
    assert main(sweep) == 1
    assert states(tmp_path / "grid") == {"clm": "done", "broken": "failed"}
    assert (tmp_path / "grid" / "report" / "report.html").exists()
    for wrong, words in (("timeout_min", "KEY=VALUE"), ("no_such_thing=1", "no_such_thing")):
        assert main([*sweep[:4], "--submitit", wrong]) == 2
        assert words in capfd.readouterr().err


def test_a_changed_list_of_metrics_goes_on_with_the_same_runs(tmp_path, capfd):
    """One run is done and one half done when a metric is added: both end with it at every snapshot."""
    text = write_text(tmp_path / "text.txt")
    arms = {"clm": {"model.class_path": "objectives.CLM"}, "mlm": {}}
    few = {"evaluation.metrics": METRICS[:1], "record_every_steps": 4}
    sweep = ["sweep", str(grid_file(tmp_path / "grid.yaml", text, arms, **few)), "--results", str(tmp_path)]
    assert main([*sweep, "--workers", "2"]) == 0
    runs = {run["arm"]: tmp_path / "grid" / run["directory"] for run in run_directory.read_runs(tmp_path / "grid")}
    half_done(runs["mlm"])
    weights = {arm: snapshots(run) for arm, run in runs.items()}
    said = {arm: durable.read_json(run / run_directory.RUN) for arm, run in runs.items()}

    more = {"evaluation.metrics": METRICS, "record_every_steps": 7, "trainer.enable_progress_bar": True}
    grid_file(tmp_path / "grid.yaml", text, arms, **more)
    capfd.readouterr()
    assert main([*sweep, "--dry-run"]) == 0
    assert sorted(line.split("\t")[1] for line in capfd.readouterr().out.splitlines()) == [
        "done, to be measured",
        "resumable",
    ]
    assert main([*sweep, "--workers", "2"]) == 0
    assert {run["directory"] for run in run_directory.read_runs(tmp_path / "grid")} == {
        str(run.relative_to(tmp_path / "grid")) for run in runs.values()
    }
    for arm, run in runs.items():
        assert snapshots(run) == weights[arm]
        assert durable.read_json(run / run_directory.RUN) == said[arm]
        swaps = [row.tokens for row in metrics_file.read_metrics(run) if row.quantity == "word_swap/accuracy"]
        assert len(swaps) == 3
    capfd.readouterr()
    assert main([*sweep, "--dry-run"]) == 0
    assert capfd.readouterr().out.count("\tdone\n") == 2


def snapshots(run):
    """The weights of each snapshot; of the last one only while the run is done."""
    found = {path.name: torch.load(path, weights_only=True)["state_dict"] for path in complete(run / "snapshots")[:2]}
    return {(name, key): value.numpy().tobytes() for name, state in found.items() for key, value in state.items()}


def test_runs_that_diverge_or_are_damaged_are_named_and_the_others_go_on(tmp_path, capfd):
    """Neither is tried again by itself, and the report counts them."""
    text = write_text(tmp_path / "text.txt")
    arms = {
        "wild": {"model.init_args.optimizer": {"learning_rate": 1e30, "gradient_clip": 0.0}},
        "damaged": {"model.init_args.corruption.rate": 0.3},
        "clm": {"model.class_path": "objectives.CLM"},
    }
    grid = grid_file(tmp_path / "grid.yaml", text, arms)
    sweep = ["sweep", str(grid), "--results", str(tmp_path), "--workers", "1"]
    assert main(sweep) == 1
    assert states(tmp_path / "grid") == {"wild": "diverged", "damaged": "done", "clm": "done"}
    error = capfd.readouterr().err
    assert "wild-s1" in error and "diverged: at token" in error and "--retry-failed" in error

    (run,) = (
        tmp_path / "grid" / r["directory"] for r in run_directory.read_runs(tmp_path / "grid") if "dam" in r["arm"]
    )
    lines = (run / metrics_file.METRICS).read_text().splitlines(keepends=True)
    (run / metrics_file.METRICS).write_text("".join(lines[: len(lines) // 2]))
    assert main(sweep) == 1
    error = capfd.readouterr().err
    assert "damaged: damaged-s1: metrics.csv has" in error and "restore it from a copy" in error
    report = (tmp_path / "grid" / "report" / "report.md").read_text()
    assert "1 of 3 runs are finished, in 3 arms; 1 diverged; 1 damaged." in report
    assert main(["evaluate", str(tmp_path / "grid")]) == 1
    out, error = capfd.readouterr()
    assert f"{run}\tfailed" in out and "damaged-s1" in error and "restore it from a copy" in error
