"""Bad input gets one line that names the cause and the fix, exit code 2, and nothing half-written."""

import pytest

from experiments.cli import main
from tests.support.tiny import RULES, fit_arguments, half_done, only_run, run_config, write_text

CASES = {
    "rate of zero": ({"model.init_args.corruption.rate": 0.0}, ["(0, 1]"]),
    "rate above one": ({"model.init_args.corruption.rate": 1.5}, ["(0, 1]"]),
    "mix that does not sum to one": (
        {"model.init_args.corruption.random": 0.5},
        ["sum to 1", "0.8, 0.1, 0.1"],
    ),
    "unknown key": ({"model.init_args.encoder.widht": 8}, ["widht"]),
    "unknown group": ({"modle.class_path": "objectives.MLM"}, ["modle"]),
    "unknown class path": ({"model.class_path": "objectives.XLM"}, ["objectives.XLM"]),
    "class path of a package not allowed": (
        {"model.class_path": "wave.Wave_read"},
        ["wave", "--allow-import"],
    ),
    "no such corpus": (
        {"data.init_args.corpus.class_path": "experiments.corpora.Nothing"},
        ["experiments.corpora.Nothing"],
    ),
    "missing text file": ({"data.init_args.corpus.init_args.path": "nowhere.txt"}, ["nowhere.txt"]),
    "vocabulary smaller than the specials": ({"data.init_args.tokenizer.size": 4}, ["special"]),
    "blocks longer than the encoder": ({"model.init_args.encoder.max_length": 8}, ["max_length", "16"]),
    "heads that do not divide the width": ({"model.init_args.encoder.heads": 3}, ["heads"]),
    "seed that is no number": ({"seed_everything": True}, ["seed", "True"]),
    "no budget": ({"model.init_args.budget.tokens": None}, ["budget"]),
    "steps instead of a budget": ({"trainer.max_steps": 5}, ["trainer.max_steps", "budget"]),
    "no interval": ({"record_every_steps": 0}, ["record_every_steps", "at least 1"]),
    "learning rate that is no number": (
        {"model.init_args.optimizer.learning_rate": float("nan")},
        ["learning_rate", "finite"],
    ),
    "seed below zero": ({"seed_everything": -1}, ["seed_everything", "-1", "4,294,967,295"]),
    "seed too large": ({"seed_everything": 2**32}, ["seed_everything", "4294967296"]),
    "batches that no memory holds": ({"data.init_args.batch_size": 10**9}, ["batch_size=1000000000", "67,108,864"]),
    "blocks that no memory holds": (
        {"data.init_args.block_length": 2**20, "data.init_args.batch_size": 65},
        ["batch_size=65", "block_length=1048576", "67,108,864"],
    ),
    "workers without end": ({"data.init_args.num_workers": 10**9}, ["num_workers", "256"]),
    "snapshots without end": ({"evaluation.snapshots": 10**9}, ["snapshots", "10,000"]),
    "first snapshot at no token": ({"evaluation.first_tokens": 0}, ["first_tokens", "at least 1"]),
    "budget beyond counting": ({"model.init_args.budget.tokens": 10**30}, ["budget", "2^53"]),
    "budget that is no number": (
        {"model.init_args.budget": {"tokens": None, "flops": float("nan")}},
        ["budget", "finite"],
    ),
    "width that no memory holds": ({"model.init_args.encoder.width": 2**40}, ["width", "parameters"]),
    "depth without end": ({"model.init_args.encoder.depth": 10**9}, ["depth", "1,000"]),
    "length without end": ({"model.init_args.encoder.max_length": 10**12}, ["max_length", "1,048,576"]),
    "nothing inside": ({"model.init_args.encoder.intermediate": 0}, ["intermediate", "positive"]),
    "frequencies that are no number": ({"model.init_args.encoder.rope_theta": float("inf")}, ["rope_theta", "finite"]),
    "devices without end": ({"trainer.devices": 10**6}, ["devices", "4,096"]),
    "steps without end": ({"trainer.accumulate_grad_batches": 10**9}, ["accumulate_grad_batches", "4,096"]),
    "a callback that ends the run": (
        {"trainer.callbacks": [{"class_path": "EarlyStopping", "init_args": {"monitor": "loss"}}]},
        ["EarlyStopping", "model.init_args.budget"],
    ),
    "a callback that keeps checkpoints": (
        {"trainer.callbacks": {"class_path": "pytorch_lightning.callbacks.ModelCheckpoint"}},
        ["ModelCheckpoint", "evaluation.snapshots"],
    ),
    "a callback that Lightning refuses": (
        {"trainer.callbacks": [{"class_path": "pytorch_lightning.callbacks.LearningRateMonitor"}]},
        ["Lightning refuses these settings", "LearningRateMonitor", "logger"],
    ),
    "weights of 16 bits": ({"trainer.precision": "bf16-true"}, ["bf16-true", "bf16-mixed"]),
    "threads below zero": ({"threads": -1}, ["threads"]),
    "wrong type": ({"model.init_args.encoder.width": "wide"}, ["width", "wide"]),
}


@pytest.mark.parametrize("case", CASES)
def test_bad_settings(case, text, tmp_path, capfd):
    overrides, words = CASES[case]
    assert main(fit_arguments(run_config(text, **overrides), tmp_path / "results")) == 2
    check_message(capfd, words)
    assert not list((tmp_path / "results").glob("runs/*/metrics.csv"))


@pytest.mark.parametrize(("lines", "words"), [(0, ["document"]), (2, ["block"])])
def test_text_too_small(lines, words, tmp_path, capfd):
    text = write_text(tmp_path / "text.txt", lines)
    config = run_config(text, **{"data.init_args.block_length": 64})
    assert main(fit_arguments(config, tmp_path / "results")) == 2
    check_message(capfd, words)


def test_results_that_cannot_be_written(text, tmp_path, capfd):
    (tmp_path / "file").write_text("no directory")
    assert main(fit_arguments(run_config(text), tmp_path / "file" / "results")) == 2
    check_message(capfd, ["cannot write", "file"])


def test_results_on_a_file_system_that_refuses(text, capfd):
    assert main(fit_arguments(run_config(text), "/proc/results")) == 2
    check_message(capfd, ["cannot write", "/proc/results"])


@pytest.mark.parametrize("name", ["../elsewhere", "a/b", "", "two\nlines", "x" * 200])
def test_a_name_that_is_no_file_name(name, text, tmp_path, capfd):
    assert main(fit_arguments(run_config(text), tmp_path / "results", name)) == 2
    check_message(capfd, ["name must be"])


def test_text_that_is_not_utf8(tmp_path, capfd):
    (tmp_path / "text.txt").write_bytes("caf\xe9 au lait\n".encode("latin-1") * 200)
    assert main(fit_arguments(run_config(tmp_path / "text.txt"), tmp_path / "results")) == 2
    check_message(capfd, ["text.txt line 1 is not utf-8", "name the file's encoding"])


def test_missing_configuration_file(tmp_path, capfd):
    assert main(["fit", "--config", str(tmp_path / "none.yaml")]) == 2
    check_message(capfd, ["none.yaml"])


@pytest.mark.parametrize("inline", [True, False])
@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ("threads: 1\nthreads: 2", ["line 2", "'threads' stands twice"]),
        ("model:\n  init_args: {reduction: sum, reduction: mean}", ["line 2", "'reduction' stands twice"]),
        ("model: " + "[" * 3000, ["line 1", "depth"]),
    ],
)
def test_equal_keys_in_a_configuration(settings, words, inline, tmp_path, capfd):
    (tmp_path / "two.yaml").write_text(settings)
    assert main(["fit", "--config", settings if inline else str(tmp_path / "two.yaml")]) == 2
    check_message(capfd, words if inline else [*words, "two.yaml"])


def test_generated_blocks_that_no_memory_holds(text, tmp_path, capfd):
    for setting in ("validation_blocks", "probe_train", "probe_test"):
        data = {**RULES, "init_args": {**RULES["init_args"], setting: 10**12}}
        assert main(fit_arguments({**run_config(text), "data": data}, tmp_path / "results")) == 2
        check_message(capfd, [f"{setting}=1000000000000", "1,000,000"])


def test_too_little_memory_is_one_line(text, tmp_path, monkeypatch, capfd):
    def refuse(*_, **__):
        raise RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 7 bytes.")

    monkeypatch.setattr("objectives.base.Encoder", refuse)
    config = run_config(text, **{"evaluation.metrics": []})
    assert main(fit_arguments(config, tmp_path / "results")) == 2
    check_message(capfd, ["out of memory", "batch_size"])


def test_a_machine_with_slurm_gets_no_hint_about_srun(text, tmp_path, monkeypatch, recwarn):
    (tmp_path / "srun").write_text("#!/bin/sh\n")
    (tmp_path / "srun").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    config = run_config(text, **{"model.init_args.budget.tokens": 64, "evaluation.metrics": []})
    assert main(fit_arguments(config, tmp_path / "results")) == 0
    assert not [warning for warning in recwarn if "srun" in str(warning.message)]


@pytest.mark.parametrize("name", ["hub [v1]", "a::b", "15%j"])
def test_results_may_be_called_anything(name, text, tmp_path, capfd):
    config = run_config(text, **{"model.init_args.budget.tokens": 640, "evaluation.metrics": []})
    for code in (0, 0):  # the second time it resumes
        assert main(fit_arguments(config, tmp_path / name)) == code
        half_done(only_run(tmp_path / name))
    assert main(["runs", str(tmp_path / name)]) == 0
    assert f"{only_run(tmp_path / name)}\tresumable" in capfd.readouterr().out


def test_fit_takes_no_checkpoint(text, tmp_path, capfd):
    assert main([*fit_arguments(run_config(text), tmp_path), "--ckpt_path", "a.ckpt"]) == 2
    check_message(capfd, ["ckpt_path"])


def check_message(capfd, words):
    printed = capfd.readouterr()
    lines = printed.err.strip().splitlines()
    errors = [line for line in lines if line.startswith("error: ")]
    assert len(errors) == 1 and lines[-1] == errors[0], printed
    assert all(word in errors[0] for word in words), errors[0]
    assert len(errors[0]) < 400, errors[0]
    assert "Traceback" not in printed.err + printed.out
