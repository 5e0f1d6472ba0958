"""How else a run may end: it diverges, has nothing to learn from, or its terminal is closed."""

import copy
import math
import os
import signal

import pytest
import torch

from experiments.cli import main
from experiments.records import durable, metrics_file, run_directory
from experiments.training.callbacks import Checkpoints
from experiments.training.command_line import ObjectiveCLI
from experiments.training.loop import Interrupted, TrainingDiverged
from objectives import Budget, OptimizerConfig
from objectives.lightning_module import TrainingModule
from tests.support.tiny import RULES, fit_arguments, only_run, outcome, run_config


def poison(monkeypatch, what, after):
    """Let the loss or the gradient become what is no number after so many steps."""
    original = TrainingModule.training_step

    def step(self, batch, batch_idx):
        loss = original(self, batch, batch_idx)
        if self.trainer.global_step < after:
            return loss
        if what == "loss":
            return loss * math.nan
        return loss + (self.objective.encoder.embedding.weight.sum() * 1e38) * 1e38

    monkeypatch.setattr(TrainingModule, "training_step", step)


@pytest.mark.parametrize("what", ["loss", "gradient"])
@pytest.mark.parametrize("clip", [1.0, 0.0])
def test_a_run_that_diverges_stops_before_it_is_spoiled(text, tmp_path, monkeypatch, capsys, what, clip):
    poison(monkeypatch, what, after=12)
    arguments = fit_arguments(run_config(text, **{"model.init_args.optimizer.gradient_clip": clip}), tmp_path)
    with pytest.raises(TrainingDiverged):
        ObjectiveCLI(arguments)
    run = only_run(tmp_path)
    state = run_directory.run_state(run)
    assert state.state == "diverged" and state.tokens == 12 * 64
    last = max((run / "snapshots").glob("*.ckpt"))
    assert state.error.startswith("diverged at token 768 of 1,920 (the norm of the gradient is ")
    assert str(last) in state.error
    assert all(value.isfinite().all() for value in torch.load(last, weights_only=True)["state_dict"].values())
    assert all(math.isfinite(row.value) for row in metrics_file.read_metrics(run))
    assert main(arguments) == 1
    lines = capsys.readouterr().err.strip().splitlines()
    assert lines[-1].startswith(f"{run.name} diverged at token 768") and "Traceback" not in "".join(lines)
    monkeypatch.undo()
    assert main(arguments) == 0, "where the cause is gone, it goes on from its checkpoint"


def test_a_learning_rate_that_is_too_high_diverges_on_text_without_probes(text, tmp_path, capsys):
    config = run_config(text, "CLM", **{"model.init_args.optimizer": {"learning_rate": 1e30, "gradient_clip": 0}})
    assert main(fit_arguments(config, tmp_path)) == 1
    assert "diverged at token" in capsys.readouterr().err.strip().splitlines()[-1]


def test_a_gradient_that_is_finite_is_left_as_it_is_where_nothing_is_clipped(text, tmp_path):
    """A clip that is never reached and none at all train the same weights."""
    found = []
    for name, clip in (("none", 0.0), ("never", 1e9)):
        config = run_config(text, **{"model.init_args.optimizer.gradient_clip": clip})
        ObjectiveCLI(fit_arguments(config, tmp_path / name))
        found.append(outcome(only_run(tmp_path / name)))
    assert found[0] == found[1]


WITHOUT_TARGETS = {
    "exact selection that rounds to nothing": {
        "rate": 0.01,
        "selection": {"class_path": "objectives.ExactCount"},
    },
    "a rate that is too low": {"rate": 0.001},
}


@pytest.mark.parametrize("name", WITHOUT_TARGETS)
@pytest.mark.parametrize("data", ["text", "rules"])
def test_a_run_that_would_predict_nothing_is_refused_before_it_trains(text, tmp_path, capsys, name, data):
    config = run_config(text, **{"model.init_args.corruption": WITHOUT_TARGETS[name]})
    if data == "rules":
        config["data"] = copy.deepcopy(RULES)
    if name.startswith("exact"):
        config["data"]["init_args"] |= {"batch_size": 32}  # enough for a target a step, on average
    assert main(fit_arguments(config, tmp_path)) == 2
    error = capsys.readouterr().err.strip().splitlines()[-1]
    assert "would learn next to nothing" in error and "corruption.rate" in error
    run = only_run(tmp_path)
    assert not (run / metrics_file.METRICS).exists() and not (run / run_directory.CONFIG).exists()


@pytest.mark.parametrize(
    "setting",
    [
        {"learning_rate": math.nan},
        {"learning_rate": 0.0},
        {"weight_decay": -0.1},
        {"weight_decay": math.nan},
        {"gradient_clip": math.nan},
        {"gradient_clip": math.inf},
        {"warmup_tokens": -5},
        {"betas": (0.9, 1.0)},
        {"eps": math.nan},
        {"final_fraction": math.nan},
    ],
)
def test_settings_of_the_optimiser_that_make_no_sense_are_refused_by_name(setting):
    (name,) = setting
    with pytest.raises(ValueError, match=f"^{name}="):
        OptimizerConfig(**setting)


@pytest.mark.parametrize("budget", [{"flops": math.nan}, {"flops": math.inf}, {"flops": -1.0}, {"tokens": 0}])
def test_budgets_that_make_no_sense_are_refused(budget):
    with pytest.raises(ValueError, match="positive, finite budget"):
        Budget(**budget)


@pytest.mark.parametrize("ignored", [False, True])
def test_a_terminal_that_is_closed_stops_a_run_unless_nohup_says_otherwise(text, tmp_path, monkeypatch, ignored):
    original = Checkpoints.on_train_batch_end

    def hang_up(self, trainer, *rest):
        if trainer.global_step == 3:
            os.kill(os.getpid(), signal.SIGHUP)
        original(self, trainer, *rest)

    monkeypatch.setattr(Checkpoints, "on_train_batch_end", hang_up)
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN if ignored else signal.SIG_DFL)
    try:
        if ignored:
            ObjectiveCLI(fit_arguments(run_config(text), tmp_path))
        else:
            with pytest.raises(Interrupted):
                ObjectiveCLI(fit_arguments(run_config(text), tmp_path))
    finally:
        signal.signal(signal.SIGHUP, before)
    step = durable.read_json(only_run(tmp_path) / run_directory.STATUS)["step"]
    assert step == (30 if ignored else 3)
