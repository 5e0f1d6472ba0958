"""Grids whose arms start from other arms: what is planned, in which order it runs, and what is left out."""

import os
import signal
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml

from experiments.cli import main
from experiments.records import durable, run_directory
from experiments.records.checkpoints import complete
from experiments.sweeps.grid import read_grid
from experiments.sweeps.progress import Progress
from experiments.sweeps.sweep import plan
from experiments.sweeps.workers import BUSY, DIED, DONE, FAILED, INTERRUPTED, NOT_STARTED, RunTask, run_all
from objectives import load_objective
from objectives.construction.identity import state_hash
from tests.support.tiny import RULES, grid_base

ARMS = {
    "both": {"model": {"class_path": "objectives.MLM", "init_args": {"start": {"level": "CLM"}}}},
    "CLM": {"model.class_path": "objectives.CLM"},
    "thrice": {"model.class_path": "objectives.CLM", "model.init_args.start.level": "both"},
}


def write_grid(directory, arms=ARMS, **content):
    base = {**grid_base(directory / "unused"), "data": RULES}
    del base["model"]["class_path"]
    base["evaluation"] = {"snapshots": 2, "metrics": ["experiments.evaluation.ValidationLoss"]}
    path = directory / "stages.yaml"
    path.write_text(yaml.safe_dump({"base": base, "axes": {"arm": arms}, "seeds": [1, 2]} | content, sort_keys=False))
    return path


def test_a_level_starts_from_another_one_of_the_same_seed_and_other_levels(tmp_path):
    rates = {"model.init_args.optimizer.learning_rate": [0.001, 0.01]}
    grid = read_grid(write_grid(tmp_path, axes={"arm": ARMS, **rates}))
    assert {cell.name: cell.start for cell in grid.cells if cell.seed == 2} == {
        "both-0.001-s2": "CLM-0.001-s2",
        "both-0.01-s2": "CLM-0.01-s2",
        "CLM-0.001-s2": None,
        "CLM-0.01-s2": None,
        "thrice-0.001-s2": "both-0.001-s2",
        "thrice-0.01-s2": "both-0.01-s2",
    }


def test_the_hash_of_a_parent_is_part_of_its_childs(tmp_path):
    """In a plan, before anything is trained; and the order of the grid stays."""
    first = plan(read_grid(write_grid(tmp_path)), tmp_path / "g")
    assert [run["arm"] for run, _ in first] == ["both", "both", "CLM", "CLM", "thrice", "thrice"]
    by_name = {run["name"]: (run, config) for run, config in first}
    run, config = by_name["both-s2"]
    parent = by_name["CLM-s2"][0]
    assert config["model"]["init_args"]["start"] == str(tmp_path / "g" / parent["directory"])
    assert run["start"] == f"CLM-s2-{parent['hash']}"
    assert [run["hash"] for run, _ in plan(read_grid(write_grid(tmp_path)), tmp_path / "elsewhere")] == [
        run["hash"] for run, _ in first
    ]
    slower = {**ARMS, "CLM": {**ARMS["CLM"], "model.init_args.optimizer.learning_rate": 0.001}}
    other = {run["name"]: run["hash"] for run, _ in plan(read_grid(write_grid(tmp_path, slower)), tmp_path / "g")}
    assert not {run["hash"] for run, _ in first} & set(other.values()), "a parent with other settings, and all after it"
    assert not (tmp_path / "g").exists()


@pytest.mark.parametrize(
    ("start", "words"),
    [
        ({"level": "nothing"}, "another level of that axis"),
        ({"level": "both"}, "another level of that axis"),
        ({"level": "CLM", "more": 1}, "another level of that axis"),
        ({"arm": "CLM"}, "another level of that axis"),
        ({"level": "thrice"}, "both-s1 would start from itself"),
    ],
)
def test_what_is_no_start_is_refused(start, words, tmp_path):
    arms = {**ARMS, "both": {"model.init_args.start": start}}
    with pytest.raises(ValueError, match=words):
        read_grid(write_grid(tmp_path, arms))


def test_a_base_names_no_level(tmp_path):
    path = write_grid(tmp_path)
    content = yaml.safe_load(path.read_text())
    content["base"]["model"]["init_args"]["start"] = {"level": "CLM"}
    path.write_text(yaml.safe_dump(content))
    with pytest.raises(ValueError, match="in a level of an axis"):
        read_grid(path)


class Works:
    """Does each task at once, with the outcome that is given for it."""

    def __init__(self, outcomes):
        self.outcomes, self.order = outcomes, []

    def submit(self, function, task):
        self.order.append(task.run.name)
        outcome = self.outcomes.get(task.run.name, DONE)
        return SimpleNamespace(done=lambda: True, result=lambda: outcome, cancel=lambda: None)

    def shutdown(self, **_):
        pass


def tasks(directory, **after):
    return [RunTask(directory / name, [], [], after=of and directory / of) for name, of in after.items()]


@pytest.mark.parametrize("places", [1, 3])
def test_a_run_waits_for_the_one_it_starts_from(places, tmp_path):
    works = Works({})
    outcomes = run_all(tasks(tmp_path, c="b", b="a", d=None, a=None), [lambda: works] * places, Progress(4))
    assert set(outcomes.values()) == {DONE} and len(outcomes) == 4
    assert works.order.index("a") < works.order.index("b") < works.order.index("c")


@pytest.mark.parametrize(("found", "expected"), [(FAILED, NOT_STARTED), (DIED, NOT_STARTED), (BUSY, BUSY)])
def test_what_starts_from_a_run_that_is_not_done_is_not_started(found, expected, tmp_path, capsys):
    works = Works({"a": found})
    outcomes = run_all(tasks(tmp_path, c="b", b="a", a=None, d=None), [lambda: works], Progress(4))
    assert {run.name: outcome for run, outcome in outcomes.items()} == {
        "a": found,
        "b": expected,
        "c": expected,
        "d": DONE,
    }
    assert f"b is not started: a, from which it starts, is {found}" in capsys.readouterr().err


def test_a_parent_that_nobody_works_on_is_done_or_lacking(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / run_directory.DONE).touch()
    works = Works({})
    outcomes = run_all(tasks(tmp_path, b="a", c="failed before"), [lambda: works], Progress(2))
    assert {run.name: outcome for run, outcome in outcomes.items()} == {"b": DONE, "c": NOT_STARTED}


def test_a_stop_leaves_what_waits_for_another_time(tmp_path):
    class Stopped(Works):
        def submit(self, function, task):
            os.kill(os.getpid(), signal.SIGINT)
            return super().submit(function, task)

    works = Stopped({"a": INTERRUPTED})
    outcomes = run_all(tasks(tmp_path, a=None, b="a"), [lambda: works], Progress(2))
    assert set(outcomes.values()) == {INTERRUPTED}


@pytest.mark.slow
def test_stages_run_one_after_the_other_and_are_never_shown_as_pairs_of_cold_ones(tmp_path):
    results = tmp_path / "results"
    sweep = ["sweep", str(write_grid(tmp_path)), "--results", str(results), "--workers", "2"]
    assert main(sweep) == 0
    directory = results / "stages"
    runs = {run["name"]: directory / run["directory"] for run in run_directory.read_runs(directory)}
    assert {run_directory.run_state(run).state for run in runs.values()} == {"done"}
    for child, parent in (("both-s1", "CLM-s1"), ("thrice-s2", "both-s2")):
        last = load_objective(complete(runs[parent] / "snapshots")[-1])
        pairing = durable.read_json(runs[child] / run_directory.PAIRING)
        assert pairing["encoder"] == state_hash(last.encoder)
        assert durable.read_json(runs[child] / run_directory.RUN)["start"] == runs[parent].name
    report = (directory / "report" / "report.md").read_text()
    assert "Refused: both and CLM are not paired: initial encoder weights of both-s1 and CLM-s1: differs" in report
    assert "CLM-s1 from its seed" in report
    assert main([*sweep, "--dry-run"]) == 0
    moved = tmp_path / "moved"
    os.rename(results, moved)
    assert main(["evaluate", str(moved / "stages")]) == 0, "a child says what it is without its parent's place"
    assert Path(runs["both-s1"]).name in {path.name for path in (moved / "stages" / "runs").iterdir()}
