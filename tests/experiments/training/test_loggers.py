"""Lightning's loggers get what a run records, and leave the run's own records alone."""

import csv
import importlib.util

import pytest
from pytorch_lightning.loggers import CSVLogger

from experiments.cli import main
from experiments.records import metrics_file
from experiments.training.callbacks import Checkpoints
from experiments.training.command_line import ObjectiveCLI
from experiments.training.loop import Interrupted
from tests.support.tiny import fit_arguments, run_config, write_text

CSV = {"class_path": "pytorch_lightning.loggers.CSVLogger", "init_args": {"save_dir": "."}}


@pytest.fixture
def fit(tmp_path):
    """Trains the same tiny run with a setting of the Trainer's logger."""
    text = write_text(tmp_path / "text.txt")

    def run(*flags, results="results"):
        config = run_config(text, **{"evaluation.metrics": ["experiments.evaluation.ValidationLoss"]})
        return ObjectiveCLI([*fit_arguments(config, tmp_path / results), *flags])

    return run


def logged(path):
    """(step, quantity) -> value, of a CSVLogger's file."""
    with open(path, newline="") as file:
        rows = list(csv.DictReader(file))
    return {
        (int(row["step"]), quantity): float(value)
        for row in rows
        for quantity, value in row.items()
        if value and quantity not in ("step", *metrics_file.AXES)
    }


def recorded(run):
    return {(row.step, row.quantity): row.value for row in metrics_file.read_metrics(run)}


FLAGS = {
    "default": (["--trainer.logger", "true"], "lightning_logs/version_0"),
    "by name": (
        ["--trainer.logger", "CSVLogger", "--trainer.logger.save_dir", "logs"],
        "logs/lightning_logs/version_0",
    ),
    "several, by class path": (["--trainer.logger", f"[{CSV}]"], "lightning_logs/version_0"),
}


@pytest.mark.parametrize("flag", FLAGS)
def test_a_logger_gets_what_is_recorded(flag, fit):
    flags, place = FLAGS[flag]
    if flag == "default" and importlib.util.find_spec("tensorboard"):
        pytest.skip("Lightning's default logger is TensorBoard's where it is installed")
    run = fit(*flags).run.directory
    values = logged(run / place / "metrics.csv")
    assert values == recorded(run)
    assert {"train/loss", "validation/loss"} <= {quantity for _, quantity in values}


def test_an_absolute_directory_is_left_as_it_is(fit, tmp_path):
    run = fit("--trainer.logger=CSVLogger", f"--trainer.logger.save_dir={tmp_path}/all", "--trainer.logger.name=mine")
    assert (tmp_path / "all" / "mine" / "version_0" / "metrics.csv").exists()
    assert isinstance(run.trainer.logger, CSVLogger)


def test_no_logger_unless_asked_for(fit):
    cli = fit()
    assert cli.trainer.loggers == [] and not (cli.run.directory / "lightning_logs").exists()


@pytest.mark.slow
def test_a_resumed_run_keeps_both(fit, monkeypatch):
    whole = fit("--trainer.logger=true", results="whole").run.directory
    original = Checkpoints.on_train_batch_end

    def stop_after_ten(self, trainer, *rest):
        self.stop.signal = 15 if trainer.global_step == 10 else None
        original(self, trainer, *rest)

    with monkeypatch.context() as patched, pytest.raises(Interrupted):
        patched.setattr(Checkpoints, "on_train_batch_end", stop_after_ten)
        fit("--trainer.logger=true")
    run = fit("--trainer.logger=true").run.directory
    assert recorded(run) == recorded(whole)
    first, second = (logged(run / "lightning_logs" / f"version_{n}" / "metrics.csv") for n in (0, 1))
    assert {step for step, _ in first} <= set(range(11)) and first | second == recorded(run)


def test_a_logger_may_not_overwrite_the_records(tmp_path, capfd):
    config = run_config(write_text(tmp_path / "text.txt"))
    config["trainer"] = {"logger": {**CSV, "init_args": {"save_dir": ".", "name": "", "version": ""}}}
    assert main(fit_arguments(config, tmp_path / "results")) == 2
    assert "CSVLogger would write over the records" in capfd.readouterr().err
    assert not list((tmp_path / "results").glob("runs/*/metrics.csv"))


def test_values_reach_a_logger_before_the_run_ends(fit, monkeypatch):
    saved = []
    monkeypatch.setattr(CSVLogger, "save", lambda self: saved.append(len(self.experiment.metrics)))
    fit("--trainer.logger", str(CSV))
    assert sorted({*saved}) == [*range(len({*saved}))] and len({*saved}) > 7


@pytest.mark.skipif(bool(importlib.util.find_spec("tensorboard")), reason="tensorboard is installed")
def test_tensorboard_that_is_not_installed(tmp_path, capfd):
    config = run_config(write_text(tmp_path / "text.txt"))
    flags = ["--trainer.logger", "TensorBoardLogger", "--trainer.logger.save_dir", "."]
    assert main([*fit_arguments(config, tmp_path / "results"), *flags]) == 2
    lines = capfd.readouterr().err.strip().splitlines()
    assert lines[-1].startswith("error: ") and "pip install" in lines[-1] and "tensorboard" in lines[-1]
    assert "Expected a <class" not in lines[-1]


def test_a_logger_of_a_package_that_is_not_allowed(tmp_path, capfd):
    config = run_config(write_text(tmp_path / "text.txt"))
    assert main([*fit_arguments(config, tmp_path / "results"), "--trainer.logger", "wave.Wave_read"]) == 2
    assert "--allow-import" in capfd.readouterr().err
