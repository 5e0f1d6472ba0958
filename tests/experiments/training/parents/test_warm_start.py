"""A run that starts from the weights of another one: whose weights, under which hash, and what is refused."""

import shutil
from pathlib import Path

import pytest
import torch

from experiments.cli import main
from experiments.records import durable, run_directory
from experiments.records.checkpoints import complete
from experiments.sweeps.grid import merged
from experiments.training.command_line import ObjectiveCLI, PlannedCLI
from experiments.training.loop import Interrupted
from objectives import load_objective
from objectives.construction.identity import state_hash
from tests.support.tiny import RULES, fit_arguments, outcome, run_config, stop_at

SHORT = {"data": RULES, "evaluation": {"snapshots": 2, "metrics": ["experiments.evaluation.ValidationLoss"]}}


def config(objective="MLM", **changes):
    return merged(run_config(Path("unused"), objective) | SHORT, changes)


def child(start, **changes):
    return config("MLM", **{"model.init_args.start": str(start)} | changes)


def fit(plain, results, name="child"):
    return ObjectiveCLI(fit_arguments(plain, results, name)).run.directory


def hash_of(plain):
    return PlannedCLI(fit_arguments(plain, Path("nowhere"))).run.hash


def refusal(capsys, plain, results):
    capsys.readouterr()
    assert main(fit_arguments(plain, results)) == 2
    return capsys.readouterr().err.strip().splitlines()[-1]


@pytest.fixture(scope="module")
def parent(tmp_path_factory):
    """A finished run of CLM."""
    return fit(config("CLM"), tmp_path_factory.mktemp("parent"), "clm")


@pytest.fixture
def moved(parent, tmp_path):
    """A copy of it that may be changed."""
    return Path(shutil.copytree(parent, tmp_path / "elsewhere" / parent.name))


def test_it_starts_with_the_last_weights_and_says_so(parent, tmp_path):
    run = fit(child(parent), tmp_path)
    weights = state_hash(load_objective(complete(parent / "snapshots")[-1]).encoder)
    pairing, before = (durable.read_json(one / run_directory.PAIRING) for one in (run, parent))
    digest = durable.read_json(parent / run_directory.RUN)["hash"]
    assert pairing["encoder"] == weights != before["encoder"]
    assert pairing["start"] == digest and "start" not in before
    assert durable.read_json(run / run_directory.RUN)["start"] == f"clm-{digest}"
    cold = fit(config("MLM"), tmp_path / "cold")
    assert outcome(run)[0] != outcome(cold)[0]


def test_an_earlier_snapshot_is_another_start(parent, tmp_path):
    first, last = complete(parent / "snapshots")
    run = fit(child(first), tmp_path)
    assert durable.read_json(run / run_directory.PAIRING)["encoder"] == state_hash(load_objective(first).encoder)
    assert "at 64 tokens" in durable.read_json(run / run_directory.RUN)["start"]
    assert len({hash_of(child(path)) for path in (first, last)}) == 2


def test_the_hash_is_that_of_the_parent_wherever_it_lies(parent, moved, tmp_path):
    renamed = Path(shutil.copytree(parent, tmp_path / "renamed"))
    places = (parent, moved, renamed, parent.with_name("clm"), complete(moved / "snapshots")[-1])
    assert len({hash_of(child(place)) for place in places}) == 1
    assert hash_of(child(parent)) not in (hash_of(config("MLM")), hash_of(child("runs/clm-01234567")))


def test_a_run_that_is_only_planned_has_its_hash_already(parent):
    assert hash_of(child(Path("nowhere") / parent.name)) == hash_of(child(parent))


def test_it_is_resumed_and_opened_without_the_parent(moved, tmp_path, monkeypatch):
    whole = fit(child(moved), tmp_path / "whole")
    stop_at(monkeypatch, [1, 7])
    for _ in range(2):
        with pytest.raises(Interrupted):
            fit(child(moved), tmp_path / "parts")
        if moved.exists():
            shutil.rmtree(moved)
    run = fit(child(moved), tmp_path / "parts")
    assert outcome(run) == outcome(whole)
    assert durable.read_json(run / run_directory.PAIRING) == durable.read_json(whole / run_directory.PAIRING)
    loaded = load_objective(complete(run / "snapshots")[-1])
    assert loaded.shared.start is None
    assert "start" not in torch.load(complete(run / "snapshots")[-1], weights_only=True)["objective"]["arguments"]


def test_other_weights_under_the_same_hash_are_noticed(moved, tmp_path, capsys):
    """As of a parent trained again on another machine, while the child had not come to its first checkpoint."""
    run = fit(child(moved), tmp_path, "tiny")
    shutil.rmtree(run)
    run.mkdir()
    durable.write_json(run / run_directory.PAIRING, {"encoder": "other"})
    assert "was begun with another encoder" in refusal(capsys, child(moved), tmp_path)


def unfinished(run):
    (run / run_directory.DONE).unlink()


def damaged(run):
    last = complete(run / "snapshots")[-1]
    last.write_bytes(last.read_bytes()[:-1] + b"x")


def without_snapshot(run):
    complete(run / "snapshots")[-1].unlink()


def other_tokenizer(run):
    path = run / run_directory.PAIRING
    durable.write_json(path, {**durable.read_json(path), "tokenizer": "another"})


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (unfinished, "is resumable, and nothing starts from it before it is done"),
        (damaged, "is damaged (its sha256 differs"),
        (without_snapshot, "no checkpoint at"),
        (other_tokenizer, "has another tokenizer"),
    ],
)
def test_a_parent_that_cannot_be_started_from_is_refused_in_one_line(change, words, moved, tmp_path, capsys):
    change(moved)
    message = refusal(capsys, child(moved), tmp_path / "results")
    assert message.startswith("error: ") and words in message and moved.name in message


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"model.init_args.encoder.width": 32}, "its encoder has width 16, that of the run 32"),
        ({"model.init_args.encoder.rope_theta": 5e5}, "its encoder has rope_theta 10000.0, that of the run 500000.0"),
        ({"data.init_args.rules.symbols": 9}, "its vocabulary has size"),
    ],
)
def test_another_encoder_or_vocabulary_is_refused_in_one_line(changes, words, parent, tmp_path, capsys):
    assert words in refusal(capsys, child(parent, **changes), tmp_path)


def test_what_weights_do_not_depend_on_may_change(parent, tmp_path):
    fit(child(parent, **{"model.init_args.encoder.dropout": 0.1, "model.init_args.encoder.max_length": 128}), tmp_path)


@pytest.mark.parametrize("path", ["nowhere", "nowhere/snapshots/tokens-000000000064.ckpt"])
def test_a_path_that_is_no_run_is_refused_before_anything_is_made(path, tmp_path, capsys):
    message = refusal(capsys, child(tmp_path / path), tmp_path / "results")
    assert "there is no run at" in message
    missing = refusal(capsys, child(tmp_path / "clm-01234567"), tmp_path / "results")
    assert "there is no trained run at" in missing
    assert not (tmp_path / "results").exists()
