"""How runs are given to workers and jobs: what is left to others, and what a cluster refuses."""

import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml
from filelock import FileLock

from experiments.cli import main
from experiments.records import durable, run_directory
from experiments.records.proof import TrainingProof, write_done
from experiments.sweeps.cluster import read_parameters
from experiments.sweeps.progress import Progress
from experiments.sweeps.sweep import _exit_code
from experiments.sweeps.workers import BUSY, DONE, NOT_STARTED, Refused, RunTask, run_all
from tests.support.tiny import grid_base, write_text


@pytest.fixture
def sweep(tmp_path):
    """A command, of a grid of two runs."""
    arms = {"clm": {"model.class_path": "objectives.CLM"}, "mlm": {}}
    base = grid_base(write_text(tmp_path / "text.txt"))
    (tmp_path / "grid.yaml").write_text(yaml.safe_dump({"base": base, "axes": {"arm": arms}, "seeds": [1]}))
    return ["sweep", str(tmp_path / "grid.yaml"), "--results", str(tmp_path / "results")]


def errors(capfd):
    return [line for line in capfd.readouterr().err.splitlines() if line.startswith("error: ")]


def test_runs_that_another_process_works_on_are_named_and_have_a_code_of_their_own(sweep, tmp_path, capfd):
    assert main([*sweep, "--dry-run"]) == 0
    directory = tmp_path / "results" / "grid"
    runs = [directory / line.split("\t")[0] for line in capfd.readouterr().out.splitlines()]
    for run in runs:
        durable.make_directory(run)
    with FileLock(runs[0] / run_directory.LOCK), FileLock(runs[1] / run_directory.LOCK):
        assert main(sweep) == 3
    said = capfd.readouterr().err
    assert "2 of 2 runs are left to another process: clm-s1, mlm-s1; run the same command again when it has" in said


def test_a_failed_run_counts_more_than_one_that_is_left(tmp_path, capsys):
    runs = [{"name": name, "directory": f"runs/{name}"} for name in ("a", "b", "c")]
    for run in runs:
        durable.make_directory(tmp_path / run["directory"])
    a, b, _ = (tmp_path / run["directory"] for run in runs)
    write_done(a, TrainingProof())
    assert _exit_code(tmp_path, runs, {a: DONE}) == 0
    assert _exit_code(tmp_path, runs, {a: DONE, b: BUSY}) == 3
    assert capsys.readouterr().err.startswith("1 of 3 runs is left to another process: b;")
    durable.write_json(tmp_path / runs[2]["directory"] / run_directory.STATUS, {"state": "failed", "error": "why"})
    assert _exit_code(tmp_path, runs, {b: BUSY}) == 1


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (["timeout_min=abc"], "timeout_min"),
        (["x=[1"], "--submitit x=[1 is not valid YAML"),
        (["slurm_time={a: 1, a: 2}"], "'a' stands twice"),
        (["timeout_min=0"], "numbers from 1 on, but got timeout_min=0"),
        (["cpus_per_task=two"], "cpus_per_task"),
        (["timeout_min=1", "timeout_min=2"], "timeout_min twice"),
        (["=1"], "KEY=VALUE"),
    ],
)
def test_a_parameter_that_submitit_does_not_take(given, words, sweep, tmp_path, capfd):
    pytest.importorskip("submitit")
    assert main([*sweep, "--submitit", *given]) == 2
    (error,) = errors(capfd)
    assert words in error
    assert not (tmp_path / "results").exists()


def test_times_are_times():
    assert read_parameters(["slurm_time=1:30:00", "mem_gb=2"]) == {"slurm_time": "1:30:00", "mem_gb": 2}


def test_jobs_cannot_write_where_slurm_puts_numbers(sweep, tmp_path, capfd):
    pytest.importorskip("submitit")
    shutil.move(tmp_path / "grid.yaml", tmp_path / "15%j.yaml")
    assert main(["sweep", str(tmp_path / "15%j.yaml"), "--results", str(tmp_path / "r"), "--submitit"]) == 2
    (error,) = errors(capfd)
    assert "without %" in error
    assert not (tmp_path / "r").exists()


def fake(folder, name, script):
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(f"#!/bin/sh\n{script}\n")
    (folder / name).chmod(0o755)


def test_without_slurm_it_is_said_that_jobs_run_here(sweep, tmp_path, monkeypatch, capfd):
    pytest.importorskip("submitit")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert main([*sweep, "--submitit", "timeout_min=10", "--dry-run"]) == 0
    assert "there is no SLURM here (no sbatch): its jobs run as processes of this machine" in capfd.readouterr().err


def test_a_job_that_sbatch_refuses(sweep, tmp_path, monkeypatch, capfd):
    pytest.importorskip("submitit")
    fake(tmp_path / "bin", "srun", "exit 0")
    fake(tmp_path / "bin", "sbatch", "echo 'sbatch: error: invalid partition specified: long' >&2\nexit 1")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"), prepend=":")
    assert main([*sweep, "--submitit", "timeout_min=10", "slurm_partition=long"]) == 2
    printed = capfd.readouterr()
    assert "Traceback" not in printed.err
    assert [line for line in printed.err.splitlines() if "invalid partition" in line] == [
        "error: the job of " + Path(next((tmp_path / "results" / "grid" / "runs").glob("clm-*"))).name + " is refused: "
        "sbatch: error: invalid partition specified: long"
    ]


def test_a_job_that_is_refused_later_leaves_the_others_alone(tmp_path, capsys):
    class Full:
        """Takes one job."""

        taken = 0

        def submit(self, function, task):
            if self.taken:
                raise Refused("the job is refused: too many")
            self.taken += 1
            return SimpleNamespace(done=lambda: True, result=lambda: DONE)

        def shutdown(self, **_):
            pass

    full = Full()
    tasks = [RunTask(tmp_path / name, [], []) for name in ("a", "b", "c")]
    outcomes = run_all(tasks, [lambda: full] * 3, Progress(3))
    assert outcomes == dict(zip((task.run for task in tasks), (DONE, NOT_STARTED, NOT_STARTED), strict=True))
    assert "the job is refused: too many; 2 runs are not started, the others go on" in capsys.readouterr().err
    with pytest.raises(Refused):
        run_all(tasks, [lambda: full], Progress(3))
