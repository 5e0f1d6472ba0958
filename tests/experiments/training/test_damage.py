"""What is damaged is noticed, named and never made worse; what can be healed is."""

import os
import shutil
from pathlib import Path

import pytest
import torch

from experiments.cli import main
from experiments.records import durable, metrics_file, run_directory
from experiments.records.checkpoints import complete, digest_file
from experiments.records.proof import DONE, damage
from experiments.records.quantities import QUANTITIES, TRAINING
from experiments.training.command_line import ObjectiveCLI
from tests.support.tiny import fit_arguments, only_run, outcome, run_config


@pytest.fixture(scope="module")
def trained(text, tmp_path_factory):
    """A finished run of 30 steps, with checkpoints at steps 25 and 30."""
    results = tmp_path_factory.mktemp("trained")
    ObjectiveCLI(fit_arguments(run_config(text), results))
    return results


@pytest.fixture
def run(trained, tmp_path):
    shutil.copytree(trained, tmp_path, dirs_exist_ok=True)
    return only_run(tmp_path)


@pytest.fixture
def arguments(text, tmp_path):
    return fit_arguments(run_config(text), tmp_path)


def rows_until(run, step):
    metrics_file.replace_rows(
        run / metrics_file.METRICS, [row for row in metrics_file.read_metrics(run) if row.step <= step]
    )


def flip(path):
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def test_a_hole_in_the_records_sends_the_run_back_to_a_checkpoint_before_it(run, arguments):
    before = outcome(run)
    (run / DONE).unlink()
    rows_until(run, 28)
    ObjectiveCLI(arguments)
    assert outcome(run) == before and not damage(run)


@pytest.mark.parametrize("file", [metrics_file.METRICS, metrics_file.STREAM])
@pytest.mark.parametrize("left", ["nothing", "step 8", "an altered row"])
def test_records_without_what_any_checkpoint_knows_are_refused(run, arguments, file, left, capsys):
    (run / DONE).unlink()
    path = run / file
    lines = path.read_text().splitlines(keepends=True)
    if left == "nothing":
        path.unlink()
    elif left == "step 8":
        path.write_text("".join(line for line in lines if line.startswith(("step", "1,", "4,", "8,"))))
    else:
        path.write_text("".join([*lines[:2], lines[2].replace("4,", "5,", 1), *lines[3:]]))
    assert main(arguments) == 2
    error = capsys.readouterr().err.strip().splitlines()[-1]
    assert "cannot go on from any of its checkpoints" in error and file in error
    assert len(complete(run / "checkpoints")) == 2 and not (run / DONE).exists()


def test_a_damaged_checkpoint_falls_back_to_the_one_before(run, arguments, capsys):
    before = outcome(run)
    (run / DONE).unlink()
    newest = complete(run / "checkpoints")[-1]
    flip(newest)
    with pytest.warns(UserWarning, match=f"{newest.name} is damaged.*goes on from.*step-000000025"):
        assert main(arguments) == 0
    assert outcome(run) == before
    assert (run / "checkpoints" / f"{newest.name}.damaged").exists(), "set aside, not deleted"


def test_a_run_all_of_whose_checkpoints_are_damaged_is_refused(run, arguments, capsys):
    (run / DONE).unlink()
    for path in complete(run / "checkpoints"):
        flip(path)
    assert main(arguments) == 2
    assert "cannot go on from any of its checkpoints" in capsys.readouterr().err
    assert len(complete(run / "checkpoints")) == 2


def test_only_what_a_run_has_left_half_written_is_removed(run, arguments, tmp_path):
    """What a user or another program has put there stays, by whatever name, and so does what links lead to."""
    (run / DONE).unlink()
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / ".notes.1.tmp").write_text("not a run's")
    (run / "linked").symlink_to(elsewhere)
    mine = [run / "mine" / "best.ckpt", run / "checkpoints" / "best.ckpt", run / "mine" / ".a.1.tmp", run / "x.tmp"]
    (run / "mine").mkdir()
    for path in mine:
        path.write_bytes(b"mine")
    digest_file(mine[1]).write_text("a hash")
    snapshot = complete(run / "snapshots")[0]
    digest_file(snapshot).unlink()
    ours = [run / ".status.json.1.tmp", run / "checkpoints" / ".step-000000030.ckpt.1.tmp"]
    for path in ours:
        path.write_bytes(b"half")
    ObjectiveCLI(arguments)
    assert all(path.read_bytes() == b"mine" for path in mine) and (elsewhere / ".notes.1.tmp").exists()
    assert not any(path.exists() for path in ours)
    assert snapshot.exists() and digest_file(mine[1]).exists()


def test_a_finished_run_without_all_its_rows_is_not_said_to_be_done(run, arguments, capsys):
    rows_until(run, 20)
    assert run_directory.run_state(run).state == "damaged"
    assert main(arguments) == 2
    error = capsys.readouterr().err.strip().splitlines()[-1]
    assert "metrics.csv has" in error and "restore it from a copy" in error


@pytest.mark.parametrize("lost", ["a score", "a digit", "a whole snapshot", "the declarations", "one declaration"])
def test_what_was_measured_is_measured_again_where_it_is_lost(run, arguments, lost):
    """The snapshots are there, so nothing of a score is lost for good."""
    before = outcome(run)
    path = run / metrics_file.METRICS
    lines = path.read_text().splitlines(keepends=True)
    if lost == "a score":
        path.write_text("".join(line for line in lines if not (line.startswith("30,") and "word_swap/acc" in line)))
    elif lost == "a digit":
        changed = [line.replace("word_swap/accuracy,0.", "word_swap/accuracy,0.9") for line in lines]
        assert changed != lines
        path.write_text("".join(changed))
    elif lost == "a whole snapshot":
        path.write_text(
            "".join(line for line in lines if not line.startswith("30,") or any(name in line for name in TRAINING))
        )
    elif lost == "the declarations":
        (run / QUANTITIES).unlink()
    else:
        content = (run / QUANTITIES).read_text()
        (run / QUANTITIES).write_text(content.replace("higher", "lower", 1))
    assert main(arguments) == 0
    again = outcome(run)
    assert sorted(again[0], key=repr) == sorted(before[0], key=repr) and again[1] == before[1]


def test_a_damaged_environment_does_not_stop_a_run(run, arguments):
    (run / DONE).unlink()
    (run / run_directory.ENVIRONMENT).write_text("{")
    with pytest.warns(UserWarning, match="environment.json is damaged"):
        assert main(arguments) == 0
    assert durable.read_json(run / run_directory.ENVIRONMENT)["threads"] == 1


def test_a_damaged_pairing_that_no_checkpoint_knows_is_refused_by_name(run, arguments, capsys):
    (run / DONE).unlink()
    shutil.rmtree(run / "checkpoints")
    (run / run_directory.PAIRING).write_text("{")
    assert main(arguments) == 2
    error = capsys.readouterr().err.strip().splitlines()[-1]
    assert "pairing.json is damaged" in error and "delete" not in error


@pytest.mark.parametrize("at", ["the middle", "the end"])
@pytest.mark.parametrize("lost", ["removed", "damaged"])
def test_a_lost_pairing_is_written_again_as_a_checkpoint_has_it(run, arguments, lost, at):
    before = durable.read_json(run / run_directory.PAIRING)
    (run / DONE).unlink()
    if at == "the middle":
        complete(run / "checkpoints")[-1].unlink()
    if lost == "removed":
        (run / run_directory.PAIRING).unlink()
        assert main(arguments) == 0
    else:
        (run / run_directory.PAIRING).write_text("[]")
        with pytest.warns(UserWarning, match="pairing.json is damaged.* written anew"):
            assert main(arguments) == 0
    assert durable.read_json(run / run_directory.PAIRING) == before


def test_a_kill_before_the_oldest_checkpoint_is_removed_leaves_no_more_of_them(run, arguments):
    before = [path.name for path in complete(run / "checkpoints")]
    (run / DONE).unlink()
    oldest = run / "checkpoints" / "step-000000020.ckpt"
    shutil.copy(run / "checkpoints" / before[0], oldest)
    shutil.copy(digest_file(run / "checkpoints" / before[0]), digest_file(oldest))
    ObjectiveCLI(arguments)
    assert [path.name for path in complete(run / "checkpoints")] == before and not digest_file(oldest).exists()


def test_snapshots_that_are_lost_before_a_run_goes_on_are_named(run, arguments):
    (run / DONE).unlink()
    first, second, _ = complete(run / "snapshots")
    first.unlink()
    flip(second)
    with pytest.warns(UserWarning, match=r"no whole snapshot at 64, 256 tokens; the run goes on without"):
        assert main(arguments) == 0


def test_what_a_tokenizer_gives_back_is_recorded(run):
    found = durable.read_json(run / run_directory.RUN)["round_trip"]
    assert found["documents"] == found["exact"] > 0


@pytest.mark.parametrize("changed", ["data", "encoder"])
def test_a_run_begun_with_something_else_is_refused(run, arguments, changed, capsys):
    (run / DONE).unlink()
    proof = durable.read_json(run / run_directory.PAIRING)
    if changed == "data":
        durable.write_json(run / run_directory.PAIRING, {**proof, "data": "0" * 64})
    else:  # begun anew, and with other weights than the first time
        shutil.rmtree(run / "checkpoints")
        durable.write_json(run / run_directory.PAIRING, {**proof, "encoder": "0" * 64})
    assert main(arguments) == 2
    assert f"was begun with another {changed}" in capsys.readouterr().err


@pytest.mark.parametrize("where", ["constructor", "hook"])
def test_the_proof_of_pairing_is_of_the_weights_that_training_starts_from(where, text, tmp_path, monkeypatch):
    source = (
        "import pytorch_lightning as pl\nimport torch\nfrom objectives import MLM, Corruption\n\n\nclass Warm(MLM):\n"
        "    def __init__(self, corruption: Corruption = Corruption(), **shared):\n"
        "        super().__init__(corruption, **shared)\n        fill(self)\n\n\n"
        "def fill(objective):\n    torch.nn.init.constant_(objective.encoder.embedding.weight, 0.01)\n\n\n"
        "class Fill(pl.Callback):\n    def on_train_start(self, trainer, module):\n        fill(module.objective)\n"
    )
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / f"warm_{where}.py").write_text(source)
    monkeypatch.syspath_prepend(str(tmp_path / "elsewhere"))
    proofs = {}
    warm = {
        "constructor": {"model.class_path": f"warm_{where}.Warm"},
        "hook": {"trainer": {"callbacks": [{"class_path": f"warm_{where}.Fill"}]}},
    }
    for path, changes in (("plain", {}), ("warm", warm[where])):
        config = run_config(text, **{"model.init_args.budget.tokens": 5 * 64, **changes})
        results = tmp_path / path
        assert main([*fit_arguments(config, results), "--allow-import", f"warm_{where}"]) == 0
        proofs[path] = durable.read_json(only_run(results) / run_directory.PAIRING)
    plain, warm = proofs.values()
    assert plain["data"] == warm["data"] and plain["encoder"] != warm["encoder"]


def test_a_full_disk_is_named_with_the_file_and_does_not_hide_behind_the_status(text, tmp_path, monkeypatch, capsys):
    """The status cannot be written either: it is the first error that is shown."""
    original = os.fsync
    files = []

    def full(descriptor):
        path = os.readlink(f"/proc/self/fd/{descriptor}")
        if files or path.endswith(metrics_file.METRICS):
            files.append(Path(path).name)
            raise OSError(28, "No space left on device")
        return original(descriptor)

    monkeypatch.setattr(os, "fsync", full)
    assert main(fit_arguments(run_config(text), tmp_path)) == 2
    error = capsys.readouterr().err.strip().splitlines()[-1]
    assert f"{metrics_file.METRICS} (No space left on device): make room" in error and len(files) > 1
    monkeypatch.undo()
    assert main(fit_arguments(run_config(text), tmp_path)) == 0
    assert not damage(only_run(tmp_path))


def test_a_disk_that_is_full_for_a_checkpoint_is_named(text, tmp_path, monkeypatch, capsys):
    def full(*_, **__):
        raise RuntimeError("[enforce fail at inline_container.cc:664] . unexpected pos 64 vs 0\nmore")

    monkeypatch.setattr(torch, "save", full)
    assert main(fit_arguments(run_config(text), tmp_path)) == 2
    error = capsys.readouterr().err.strip().splitlines()[-1]
    assert "cannot write" in error and "make room on the disk" in error and "more" not in error
