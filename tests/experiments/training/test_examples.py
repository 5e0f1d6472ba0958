"""Worked examples: trained, resumed, measured, scored and exported, or refused with the reason."""

import json
import signal
import subprocess
import sys

import pytest

from experiments.cli import main
from experiments.records import durable, metrics_file, run_directory
from experiments.records.checkpoints import complete
from experiments.training.command_line import ObjectiveCLI
from experiments.training.loop import Interrupted
from objectives import load_objective
from tests.support.objectives import EXAMPLES
from tests.support.tiny import RULES, fit_arguments, only_run, outcome, run_config, stop_at, write_text

OBJECTIVES = {
    "prefix": {"model.class_path": f"{EXAMPLES}.prefix_lm.BlockPrefixLM"},
    "views": {"model.class_path": f"{EXAMPLES}.two_views.TwoViews"},
    "spaced": {
        "model.class_path": "objectives.MLM",
        "model.init_args.corruption": {"rate": 0.3, "selection": {"class_path": f"{EXAMPLES}.own_selection.Spaced"}},
    },
}


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    return write_text(tmp_path_factory.mktemp("text") / "text.txt")


@pytest.fixture(scope="module")
def trained(text, tmp_path_factory):
    """The run of each example on text."""
    results = tmp_path_factory.mktemp("trained")
    for name, changes in OBJECTIVES.items():
        ObjectiveCLI(fit_arguments(run_config(text, **changes), results, name), [EXAMPLES])
    return {path.name.rpartition("-")[0]: path for path in (results / "runs").iterdir()}


def quantities(run):
    return {row.quantity: row.value for row in metrics_file.read_metrics(run)}


@pytest.mark.parametrize("name", OBJECTIVES)
def test_an_example_interrupted_and_resumed_is_bit_for_bit_the_same(name, text, trained, tmp_path, monkeypatch):
    stop_at(monkeypatch, [11, 16])
    arguments = fit_arguments(run_config(text, **OBJECTIVES[name]), tmp_path, name)
    for step in (11, 16):
        with pytest.raises(Interrupted):
            ObjectiveCLI(arguments, [EXAMPLES])
        run = only_run(tmp_path)
        state = run_directory.run_state(run)
        assert (state.state, state.tokens) == ("resumable", step * 64)
        assert not (run / run_directory.DONE).exists()
    ObjectiveCLI(arguments, [EXAMPLES])
    assert run_directory.run_state(run).state == "done"
    assert outcome(run) == outcome(trained[name])
    assert metrics_file.read_metrics(run)[-1].tokens == 30 * 64


KILLED = """
import os, signal, sys
from experiments.training.callbacks import Status
from experiments.training.command_line import ObjectiveCLI
def die(self, trainer, *rest):
    if trainer.global_step == 17:
        os.kill(os.getpid(), signal.SIGKILL)
Status.on_train_batch_end = die
ObjectiveCLI(sys.argv[2:], [sys.argv[1]])
"""


@pytest.mark.parametrize("name", OBJECTIVES)
def test_an_example_killed_and_resumed_is_bit_for_bit_the_same(name, text, trained, tmp_path):
    """Killed two steps past a checkpoint, so rows past it are there to be dropped."""
    arguments = fit_arguments(run_config(text, **OBJECTIVES[name]), tmp_path, name)
    child = subprocess.run([sys.executable, "-c", KILLED, EXAMPLES, *arguments], stderr=subprocess.DEVNULL)
    assert child.returncode == -signal.SIGKILL
    assert run_directory.run_state(only_run(tmp_path)).state == "resumable"
    ObjectiveCLI(arguments, [EXAMPLES])
    assert outcome(only_run(tmp_path)) == outcome(trained[name])


@pytest.mark.parametrize("name", OBJECTIVES)
def test_an_example_says_of_itself_what_the_records_hold(name, trained):
    record = durable.read_json(trained[name] / run_directory.RUN)
    traits = load_objective(complete(trained[name] / "snapshots")[-1]).traits
    assert {key: record[key] for key in ("objective", "attention", "traits")} == json.loads(json.dumps(traits.record()))
    assert record["attention"] == "bidirectional"
    measured = quantities(trained[name])
    assert {"validation/loss", "word_swap/accuracy", "ledger/density"} <= measured.keys()
    assert ("cloze/0.5/loss" in measured) == ("pll" in traits.scores)
    assert measured["ledger/density"] == pytest.approx(record["nominal_density"], rel=0.25)
    assert measured["validation/density"] == pytest.approx(record["nominal_density"], rel=0.25)


@pytest.mark.parametrize("name", OBJECTIVES)
def test_an_example_on_known_rules_has_an_excess_loss_where_every_view_is_answered(name, tmp_path):
    config = {**run_config(tmp_path, **OBJECTIVES[name]), "data": RULES}
    ObjectiveCLI(fit_arguments(config, tmp_path, name), [EXAMPLES])
    measured = quantities(only_run(tmp_path))
    assert ("validation/excess_loss" in measured) == (name != "spaced")
    assert "validation/loss" in measured and "probe/states/accuracy" in measured


def printed(capsys, *arguments):
    capsys.readouterr()
    code = main([*map(str, arguments)])
    out, err = capsys.readouterr()
    return code, out, err.strip().splitlines()[-1]


def test_examples_are_scored_by_what_they_offer_and_refused_otherwise(trained, tmp_path, capsys):
    (tmp_path / "lines.txt").write_text("the old cat sees the dog.\n")
    offered = {"prefix": {"chain_rule"}, "views": {"chain_rule", "pll"}, "spaced": {"pll"}}
    sums = {}
    for name, run in trained.items():
        for method in ("chain_rule", "pll"):
            code, out, last = printed(capsys, "score", run, tmp_path / "lines.txt", "--method", method)
            assert (code == 0) == (method in offered[name]), last
            sums[name, method] = out
            if code:
                assert f"cannot be scored by {method}; use " in last
    assert sums["views", "chain_rule"] != sums["views", "pll"]


def test_an_export_is_refused_with_the_reason_where_there_is_no_counterpart(trained, tmp_path, capsys):
    pytest.importorskip("transformers")
    for name, run in trained.items():
        code, _, last = printed(capsys, "export", run, tmp_path / name)
        assert (code == 0) == (name == "spaced")
        if code:
            assert "has no counterpart in transformers" in last


SILENT = """
from objectives import CLM
from dataclasses import replace


class Silent(CLM):
    @property
    def traits(self):
        return replace(super().traits, scores=())


class Untyped(CLM):
    def __init__(self, encoder, **shared):
        super().__init__(encoder=encoder, **shared)
"""


def test_an_objective_without_scores_trains_and_refuses_to_score(text, tmp_path, monkeypatch, capsys):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "silent_objectives.py").write_text(SILENT)
    with monkeypatch.context() as patched:
        patched.syspath_prepend(str(tmp_path / "elsewhere"))
        config = run_config(text, **{"model.class_path": "silent_objectives.Silent"})
        arguments = [*fit_arguments(config, tmp_path), "--allow-import", "silent_objectives"]
        assert main(arguments) == 0
        run = only_run(tmp_path)
        measured = quantities(run)
        assert "validation/loss" in measured and "word_swap/accuracy" not in measured
        for command in (["score", run, text], ["generate", run], ["fill", run, "the [MASK] cat"]):
            code, _, last = printed(capsys, *command)
            assert code == 2 and "Silent offers no sentence scores" in last
        untyped = run_config(text, **{"model.class_path": "silent_objectives.Untyped"})
        code, _, last = printed(capsys, *fit_arguments(untyped, tmp_path), "--allow-import", "silent_objectives")
        assert code == 2 and "Untyped.__init__ has no annotation for its parameter encoder" in last
    monkeypatch.delitem(__import__("sys").modules, "silent_objectives")
    code, _, last = printed(capsys, "score", run, text)
    assert code == 2 and "cannot import silent_objectives" in last and "PYTHONPATH" in last and "damaged" not in last
