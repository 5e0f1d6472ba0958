"""Runs whose list of metrics changes: nothing that was known of them is lost, and nothing stale stays."""

import os
import shutil
from pathlib import Path

import pytest
import yaml
from filelock import FileLock

from experiments.cli import main
from experiments.records import durable, metrics_file, quantities, run_directory
from experiments.records.checkpoints import complete
from experiments.training import measure
from experiments.training.command_line import ObjectiveCLI
from experiments.training.commands import opened
from tests.support.tiny import METRICS, fit_arguments, half_done, only_run, run_config, write_text


def cloze(*rates):
    return [METRICS[0], {"class_path": "experiments.evaluation.Cloze", "init_args": {"rates": [*rates]}}]


def config(text, metrics, **overrides):
    return {**run_config(text, **overrides), "evaluation": {"snapshots": 3, "metrics": metrics}}


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    return write_text(tmp_path_factory.mktemp("text") / "text.txt")


@pytest.fixture(scope="module")
def trained(text, tmp_path_factory):
    """A run that is done, with two rates of Cloze; its data is beside it."""
    results = tmp_path_factory.mktemp("trained")
    ObjectiveCLI(fit_arguments(config(text, cloze(0.15, 0.5)), results))
    return only_run(results)


@pytest.fixture
def run(trained, tmp_path):
    shutil.copytree(trained.parent.parent, tmp_path / "copy")
    return only_run(tmp_path / "copy")


def fit(run, settings):
    cli = ObjectiveCLI(fit_arguments(settings, run.parent.parent))
    assert cli.run.directory == run
    measure.measure_run(run, cli)


def recorded(run):
    return {(row.step, row.quantity, row.value) for row in metrics_file.read_metrics(run)}


def undeclared(run):
    return {row.quantity for row in metrics_file.read_metrics(run)} - quantities.read_declarations(
        run
    ).quantities.keys()


def test_a_resumed_run_with_fewer_quantities_keeps_none_that_nothing_declares(run, text):
    half_done(run)
    fit(run, config(text, cloze(0.5)))
    assert undeclared(run) == set()


@pytest.mark.slow
def test_a_run_in_use_is_named_and_the_others_are_measured(trained, text, tmp_path, capsys):
    for name in ("free", "used"):
        shutil.copytree(trained.parent.parent, tmp_path / "grid" / name)
    free, used = (only_run(tmp_path / "grid" / name) for name in ("free", "used"))
    (tmp_path / "more.yaml").write_text(yaml.safe_dump({"evaluation": {"metrics": [*cloze(0.15, 0.5), METRICS[7]]}}))
    with FileLock(used / run_directory.LOCK):
        code = main(["evaluate", str(tmp_path / "grid"), "--config", str(tmp_path / "more.yaml"), "--workers", "1"])
    assert code == 3
    printed = capsys.readouterr()
    assert set(printed.out.splitlines()) == {f"{free}\tmeasured", f"{used}\tleft to another process"}
    assert f"1 of 2 runs is left to another process: {used.name}; run the same command again" in printed.err
    assert {row.quantity for row in metrics_file.read_metrics(free)} >= {"word_swap/accuracy", "word_swap/ties"}


def test_record_steps_may_change_on_the_way(text, tmp_path):
    settings = config(text, METRICS[:1], record_every_steps=1000)
    settings["evaluation"] |= {"snapshots": 1}
    ObjectiveCLI(fit_arguments(settings, tmp_path))
    run = only_run(tmp_path)
    half_done(run)
    fit(run, {**settings, "record_every_steps": 4})
    assert (run / run_directory.DONE).exists()


def test_what_a_killed_process_of_the_same_number_left_is_not_taken_over(run, text):
    left = run / f".{metrics_file.METRICS}.{os.getpid()}.tmp"
    shutil.copy(run / metrics_file.METRICS, left)
    fit(run, config(text, [*cloze(0.15, 0.5), METRICS[7]]))
    rows = [(row.step, row.quantity) for row in metrics_file.read_metrics(run)]
    assert len(rows) == len(set(rows))


def test_back_to_the_old_list_after_a_kill(run, text, monkeypatch):
    """Killed between the rows and what says that they are there, with another list, and then the old one again."""
    before = recorded(run)
    cli = opened(fit_arguments(config(text, cloze(0.5)), run.parent.parent))

    class Killed(BaseException):
        pass

    original = metrics_file.insert_rows

    def die(*arguments):
        original(*arguments)
        raise Killed

    monkeypatch.setattr(metrics_file, "insert_rows", die)
    with pytest.raises(Killed):
        measure.measure_run(run, cli)
    monkeypatch.undo()
    fit(run, config(text, cloze(0.15, 0.5)))
    assert recorded(run) == before


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (lambda run: (run / "config.yaml").unlink(), "config.yaml is missing; restore it from a copy"),
        (lambda run: (run / "config.yaml").write_text("a: ["), "config.yaml is not valid YAML"),
        (lambda run: (run / run_directory.DONE).write_text("{"), "DONE is damaged"),
        (lambda run: (run / run_directory.RUN).unlink(), "run.json is missing"),
    ],
)
def test_a_damaged_run_is_named_and_the_others_are_measured(trained, tmp_path, capsys, damage, words):
    grid = shutil.copytree(trained.parent.parent, tmp_path / "grid")
    whole = only_run(grid)
    broken = Path(shutil.copytree(whole, whole.with_name("broken-00000000")))
    damage(broken)
    planned = [{"name": run.name, "directory": f"runs/{run.name}"} for run in (broken, whole)]
    durable.write_json(grid / run_directory.PLAN, planned)
    assert main(["evaluate", str(grid), "--workers", "1"]) == 1
    printed = capsys.readouterr()
    assert f"{whole}\tnothing is missing" in printed.out.splitlines() and f"{broken}\tfailed" in printed.out
    assert f"{broken} is left out: " in printed.err and words in printed.err


def test_a_damaged_snapshot_leaves_a_run_as_it_was(run, tmp_path, capsys):
    before = (run / run_directory.CONFIG).read_bytes(), (run / quantities.QUANTITIES).read_bytes(), recorded(run)
    last = complete(run / "snapshots")[-1]
    last.write_bytes(last.read_bytes()[:-1])
    (tmp_path / "more.yaml").write_text(yaml.safe_dump({"evaluation": {"metrics": [*cloze(0.15, 0.5), METRICS[7]]}}))
    assert main(["evaluate", str(run), "--config", str(tmp_path / "more.yaml")]) == 2
    assert f"{last.name} is damaged" in capsys.readouterr().err
    assert before == (
        (run / run_directory.CONFIG).read_bytes(),
        (run / quantities.QUANTITIES).read_bytes(),
        recorded(run),
    )


def test_a_run_that_does_not_know_its_device_is_measured_on_the_cpu(run, tmp_path, capsys):
    (run / run_directory.ENVIRONMENT).unlink()
    (tmp_path / "more.yaml").write_text(yaml.safe_dump({"evaluation": {"metrics": [*cloze(0.15, 0.5), METRICS[7]]}}))
    assert main(["evaluate", str(run), "--config", str(tmp_path / "more.yaml")]) == 0
    assert "environment.json is missing; restore it from a copy; measuring on the CPU" in capsys.readouterr().err
    assert any(name == "word_swap/accuracy" for _, name, _ in recorded(run))


def test_another_name_is_refused(run, tmp_path, capsys):
    (tmp_path / "more.yaml").write_text(yaml.safe_dump({"name": "other", "evaluation": {"metrics": METRICS[:2]}}))
    assert main(["evaluate", str(run), "--config", str(tmp_path / "more.yaml"), "--workers", "1"]) == 2
    assert "only those of its evaluation" in capsys.readouterr().err


def test_weights_of_another_precision_are_measured_as_in_training(text, tmp_path):
    found = []
    for name, metrics in (("all", cloze(0.15, 0.5)), ("few", METRICS[:1])):
        settings = config(text, metrics, **{"trainer.precision": "64-true"})
        ObjectiveCLI(fit_arguments(settings, tmp_path / name))
        run = only_run(tmp_path / name)
        fit(run, config(text, cloze(0.15, 0.5), **{"trainer.precision": "64-true"}))
        found.append(recorded(run))
    assert found[0] == found[1]
