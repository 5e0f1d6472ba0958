"""Measuring afterwards gives what measuring in training gives; stopped anywhere, it goes on to the same records."""

import shutil

import pytest
import yaml

from experiments.cli import main
from experiments.records import durable, metrics_file, quantities, run_directory
from experiments.records.checkpoints import complete
from experiments.training import measure
from experiments.training.command_line import ObjectiveCLI
from experiments.training.commands import opened
from tests.support.tiny import METRICS, fit_arguments, only_run, run_config

EXAMPLES = "tests.examples"
MORE = [*METRICS, {"class_path": f"{EXAMPLES}.own_metric.Anisotropy", "init_args": {"tokens": 40}}]


def configured(text, metrics, objective="MLM"):
    return {**run_config(text, objective), "evaluation": {"snapshots": 3, "metrics": metrics}}


@pytest.fixture(scope="module", params=["CLM", "MLM"])
def runs(request, text, tmp_path_factory):
    """A run with all metrics from the start, and one with the validation loss alone; the data is beside them."""
    found = {}
    for name, metrics in (("all", MORE), ("few", METRICS[:1])):
        results = tmp_path_factory.mktemp(name)
        ObjectiveCLI(fit_arguments(configured(text, metrics, request.param), results), [EXAMPLES])
        found[name] = only_run(results)
    assert found["all"].name == found["few"].name
    return found


@pytest.fixture
def few(runs, tmp_path):
    """A copy of the run with the validation loss alone; more.yaml has the metrics it is to have."""
    shutil.copytree(runs["few"].parent.parent, tmp_path / "copy")
    settings(tmp_path / "copy" / "more.yaml", MORE)
    return only_run(tmp_path / "copy")


def settings(path, metrics):
    path.write_text(yaml.safe_dump({"evaluation": {"metrics": metrics}}))
    return path


def more(run):
    return run.parent.parent / "more.yaml"


def evaluate(run, *options):
    return main(["evaluate", str(run), "--allow-import", EXAMPLES, "--workers", "1", *map(str, options)])


def records(run):
    rows = [row._replace(seconds=0.0) for row in metrics_file.read_metrics(run)]
    return sorted(rows), durable.read_json(run / quantities.QUANTITIES)


def test_measured_afterwards_or_in_training_is_the_same(runs, few, capsys):
    before = metrics_file.read_metrics(few)
    assert evaluate(few, "--config", more(few)) == 0
    assert capsys.readouterr().out == f"{few}\tmeasured\n"
    assert records(few) == records(runs["all"])
    rows = metrics_file.read_metrics(few)
    assert [row for row in rows if row in set(before)] == before  # nothing that was there has changed
    assert [row.step for row in rows] == sorted(row.step for row in rows)
    first = next(row for row in rows if row.quantity == "anisotropy/cosine")
    assert first[:5] == next(row for row in rows if row.step == first.step)[:5]  # the snapshot's axes, seconds too
    content = (few / metrics_file.METRICS).read_bytes()
    assert evaluate(few) == 0  # its configuration has the new metrics by now
    assert "nothing is missing" in capsys.readouterr().out
    assert (few / metrics_file.METRICS).read_bytes() == content


class Killed(BaseException):
    pass


@pytest.mark.parametrize("place", ["insert_rows", "write_declarations"])
@pytest.mark.parametrize("snapshot", [0, 2])
def test_stopped_at_any_snapshot_it_goes_on_to_the_same_records(runs, few, monkeypatch, place, snapshot):
    owner = metrics_file if place == "insert_rows" else measure
    original, calls = getattr(owner, place), []

    def die(*arguments):
        calls.append(1)
        if len(calls) == snapshot + 1:
            raise Killed
        original(*arguments)

    configs = ["--config", f"{few}/config.yaml", "--config", str(more(few))]
    cli = opened(["fit", *configs, "--results", str(few.parent.parent)], [EXAMPLES])
    monkeypatch.setattr(owner, place, die)
    with pytest.raises(Killed):
        measure.measure_run(few, cli)
    monkeypatch.undo()
    assert measure.measure_run(few, cli) == 3 - snapshot
    assert records(few) == records(runs["all"])


def test_other_settings_of_a_metric_replace_what_it_measured(few):
    def measured_with(pairs):
        metrics = [*METRICS[:1], {"class_path": "experiments.evaluation.WordSwap", "init_args": {"pairs": pairs}}]
        assert evaluate(few, "--config", settings(few.parent / "swap.yaml", metrics)) == 0
        rows = [row for row in metrics_file.read_metrics(few) if row.quantity == "word_swap/accuracy"]
        assert len(rows) == 3
        (record,) = (one for one in quantities.read_declarations(few).metrics if "WordSwap" in one.class_path)
        assert record.init_args["pairs"] == pairs
        return [row.value for row in rows]

    first = measured_with(5)
    assert measured_with(40) != first
    assert measured_with(5) == first


def test_a_finished_run_that_is_fitted_again_is_measured(text, few, capsys):
    config = configured(text, MORE, durable.read_json(few / run_directory.RUN)["objective"])
    arguments = [*fit_arguments(config, few.parent.parent), "--allow-import", EXAMPLES]
    assert main(arguments) == 0
    assert "nothing to do" not in capsys.readouterr().err
    assert "anisotropy/cosine" in {row.quantity for row in metrics_file.read_metrics(few)}
    assert main(arguments) == 0
    assert "is done; nothing to do" in capsys.readouterr().err


def test_it_refuses_in_one_line(few, tmp_path, capsys):
    def refused(run, *options):
        capsys.readouterr()
        code = evaluate(run, *options)
        error = capsys.readouterr().err.splitlines()[-1]
        assert code == 2 and error.startswith("error: ")
        return error

    other = tmp_path / "other.yaml"
    other.write_text(yaml.safe_dump({"model": {"init_args": {"optimizer": {"learning_rate": 0.5}}}}))
    assert "no directory" in refused(tmp_path / "nothing")
    assert "only those of its evaluation can be changed" in refused(few, "--config", other)
    assert "CLM" in refused(few, "--config", settings(tmp_path / "bad.yaml", ["objectives.CLM"]))


@pytest.mark.slow
@pytest.mark.parametrize("runs", ["MLM"], indirect=True)
@pytest.mark.parametrize("damage", ["snapshot", "data"])
def test_in_a_grid_a_run_that_cannot_be_measured_is_named_and_the_others_are_measured(few, tmp_path, capsys, damage):
    grid = tmp_path / "grid"
    for name in ("good", "bad"):
        shutil.copytree(few.parent.parent, grid / name)
    good, bad = (only_run(grid / name) for name in ("good", "bad"))
    if damage == "snapshot":
        complete(bad / "snapshots")[1].write_bytes(b"damage")
    else:
        proof = durable.read_mapping(bad / run_directory.PAIRING)
        durable.write_json(bad / run_directory.PAIRING, {**proof, "data": "0"})
    assert evaluate(grid, "--config", more(few)) == 1
    out, err = capsys.readouterr()
    assert set(out.splitlines()) == {f"{bad}\tfailed", f"{good}\tmeasured"}
    assert ("is damaged" if damage == "snapshot" else "another data") in err
    assert {run_directory.run_state(run).state for run in (good, bad)} == {"done"}
