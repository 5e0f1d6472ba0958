"""A finished run continued to a larger budget: what it goes on from, what it ends as, and what is refused."""

import shutil
from pathlib import Path

import pytest
import torch
import yaml

from experiments.cli import main
from experiments.records import durable, metrics_file, run_directory
from experiments.records.checkpoints import complete
from experiments.records.quantities import TRAINING
from experiments.sweeps.grid import merged
from experiments.training.command_line import ObjectiveCLI, PlannedCLI
from experiments.training.loop import Interrupted
from tests.support.tiny import RULES, fit_arguments, outcome, run_config, stop_at

STEP = 4 * 16
METRICS = ["experiments.evaluation.ValidationLoss"]


def config(steps, objective="MLM", **changes):
    """A run whose learning rate does not depend on the budget."""
    plain = run_config(Path("unused"), objective) | {"data": RULES, "record_every_steps": 5}
    plain["evaluation"] = {"snapshots": 1, "metrics": METRICS}
    optimizer = {"learning_rate": 0.01, "decay": "constant", "warmup_tokens": 5 * STEP}
    settings = {"model.init_args.budget.tokens": steps * STEP, "model.init_args.optimizer": optimizer}
    return merged(plain, settings | {"model.init_args.encoder.dropout": 0.1} | changes)


def arguments(plain, results, parent=None, name="tiny"):
    return [*fit_arguments(plain, results, name), *(["--continue", str(parent)] if parent else [])]


def fit(plain, results, parent=None, name="tiny"):
    return ObjectiveCLI(arguments(plain, results, parent, name)).run.directory


def hash_of(plain, parent=None):
    return PlannedCLI(arguments(plain, Path("nowhere"), parent)).run.hash


@pytest.fixture(scope="module")
def parent(tmp_path_factory):
    """A finished run of 17 steps, whose last checkpoint is that of its end."""
    return fit(config(17), tmp_path_factory.mktemp("parent"))


@pytest.fixture
def moved(parent, tmp_path):
    """A copy of it that may be changed."""
    return Path(shutil.copytree(parent, tmp_path / "elsewhere" / parent.name))


def trained(run):
    """What training has recorded every five steps, the stream, and the last weights."""
    rows = [row._replace(seconds=0.0) for row in metrics_file.read_metrics(run)]
    kept = [row for row in rows if row.quantity in TRAINING and row.quantity != "train/loss"]
    snapshot = torch.load(complete(run / "snapshots")[-1], weights_only=True)["state_dict"]
    stream = [one for one in metrics_file.read_stream(run) if one.step % 5 == 0]
    return [row for row in kept if row.step % 5 == 0], stream, {k: v.numpy().tobytes() for k, v in snapshot.items()}


def test_it_ends_as_a_run_of_the_larger_budget_where_nothing_goes_by_the_budget(parent, tmp_path, capsys):
    whole, continued = fit(config(40), tmp_path / "whole"), fit(config(40), tmp_path, parent)
    assert "missing" not in capsys.readouterr().err
    assert trained(continued) == trained(whole)
    assert [path.name for path in complete(continued / "snapshots")] == [
        f"tokens-{steps * STEP:012d}.ckpt" for steps in (17, 40)
    ]
    losses = {row.tokens for row in metrics_file.read_metrics(continued) if row.quantity == "validation/loss"}
    assert losses == {17 * STEP, 40 * STEP}
    pairings = [durable.read_json(run / run_directory.PAIRING) for run in (parent, continued, whole)]
    assert pairings[0] == pairings[1] == pairings[2], "it is paired as its parent is"
    record = durable.read_json(continued / run_directory.RUN)
    assert record["continues"] == parent.name and record["continued_at_tokens"] == 17 * STEP
    assert record["budget_tokens"] == 40 * STEP
    assert run_directory.run_state(continued).state == run_directory.run_state(parent).state == "done"


def test_the_learning_rate_goes_by_the_larger_budget_from_there_on(tmp_path):
    linear = {"model.init_args.optimizer": {"learning_rate": 0.01, "decay": "linear", "warmup_tokens": None}}
    parent = fit(config(20, **linear), tmp_path / "parent")
    run, whole = fit(config(40, **linear), tmp_path / "child", parent), fit(config(40, **linear), tmp_path / "whole")
    rates = [
        {row.step: row.value for row in metrics_file.read_metrics(one) if row.quantity == "train/learning_rate"}
        for one in (parent, run, whole)
    ]
    assert rates[1] == {step: rates[0 if step <= 20 else 2][step] for step in rates[2]}
    assert rates[1][25] > rates[1][20]


def test_interrupted_it_goes_on_without_its_parent_bit_for_bit(moved, tmp_path, monkeypatch):
    whole = fit(config(40), tmp_path / "whole", moved)
    stop_at(monkeypatch, [18, 33])
    for _ in range(2):
        with pytest.raises(Interrupted):
            fit(config(40), tmp_path / "parts", moved)
        if moved.exists():
            shutil.rmtree(moved)
    assert outcome(fit(config(40), tmp_path / "parts", moved)) == outcome(whole)


def test_a_kill_while_records_are_copied_loses_nothing(parent, tmp_path, monkeypatch):
    whole = fit(config(40), tmp_path / "whole", parent)
    original, copied = shutil.copyfile, []

    def full(source, target):
        copied.append(source)
        if len(copied) == 4:
            raise OSError(28, "No space left on device")
        return original(source, target)

    with monkeypatch.context() as patched:
        patched.setattr(shutil, "copyfile", full)
        with pytest.raises(OSError, match="make room"):
            fit(config(40), tmp_path / "parts", parent)
    assert outcome(fit(config(40), tmp_path / "parts", parent)) == outcome(whole)


def test_the_parents_hash_is_part_of_its_own_and_no_path_is(parent, moved):
    assert hash_of(config(40), parent) == hash_of(config(40), moved) == hash_of(config(40), "nowhere/" + parent.name)
    assert len({hash_of(config(40), parent), hash_of(config(40)), hash_of(config(40), "runs/tiny-01234567")}) == 3


def test_the_saved_configuration_is_the_same_run(parent, tmp_path):
    run = fit(config(40), tmp_path, parent)
    saved = yaml.safe_load((run / run_directory.CONFIG).read_text())
    assert saved["continue"] == str(parent)
    assert ObjectiveCLI(["fit", "--config", str(run / run_directory.CONFIG)]).was_done


def test_its_evaluation_may_be_another(parent, tmp_path):
    changes = {"evaluation.metrics": [*METRICS, "experiments.evaluation.LinearProbe"], "evaluation.snapshots": 3}
    assert main(arguments(config(40, **changes), tmp_path, parent)) == 0
    (run,) = (tmp_path / "runs").iterdir()
    probes = {row.tokens for row in metrics_file.read_metrics(run) if row.quantity == "probe/states/accuracy"}
    assert 17 * STEP in probes and 40 * STEP in probes


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"seed_everything": 2}, "seed_everything is 2, and was 1"),
        ({"model.init_args.optimizer.learning_rate": 0.02}, "learning_rate is 0.02, and was 0.01"),
        ({"model.init_args.corruption.rate": 0.3}, "corruption.rate is 0.3, and was its default"),
        ({"data.init_args.rules.seed": 2}, "data.init_args.rules.seed is 2, and was 1"),
        ({"trainer.accumulate_grad_batches": 2}, "trainer.accumulate_grad_batches is 2, and was 1"),
        ({"model.class_path": "objectives.CLM"}, "objectives.clm.CLM, and was objectives.mlm.MLM"),
        ({"model.init_args.start": "anywhere/clm-01234567"}, "start.hash is 01234567, and was its default"),
        ({"model.init_args.budget.tokens": 17 * STEP}, "has read 1,088 tokens already"),
    ],
)
def test_anything_else_that_differs_is_refused_and_named(changes, words, parent, tmp_path, capsys):
    assert main(arguments(config(40, **changes), tmp_path, parent)) == 2
    message = capsys.readouterr().err.strip().splitlines()[-1]
    assert message.startswith("error: ") and words in message
    assert parent.name in message


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda run: (run / run_directory.DONE).unlink(), "nothing starts from it before it is done"),
        (lambda run: shutil.rmtree(run / "checkpoints"), "it has no checkpoint any more"),
        (lambda run: (run / metrics_file.METRICS).unlink(), "is damaged"),
        (lambda run: complete(run / "snapshots")[-1].write_bytes(b"x"), "is damaged"),
    ],
)
def test_a_parent_that_is_not_whole_is_refused(change, words, moved, tmp_path, capsys):
    change(moved)
    assert main(arguments(config(40), tmp_path / "results", moved)) == 2
    assert words in capsys.readouterr().err.strip().splitlines()[-1]


def test_a_snapshot_is_not_continued(moved, tmp_path, capsys):
    (snapshot,) = complete(moved / "snapshots")
    assert main(arguments(config(40), tmp_path, snapshot.with_name("tokens-000000000064.ckpt"))) == 2
    assert "continue takes the directory of a run" in capsys.readouterr().err
