"""When snapshots are taken, and what the status says of speed and share."""

from types import SimpleNamespace

import torch

from experiments.evaluation.evaluation import Evaluation
from experiments.records import run_directory
from experiments.sweeps.progress import run_line
from experiments.training.callbacks import Status, snapshot_steps, whole_steps
from experiments.training.command_line import ObjectiveCLI
from tests.support.tiny import RULES, fit_arguments, run_config


def test_snapshots_are_log_spaced_and_end_at_the_budget():
    assert snapshot_steps(64_000, 100, 4) == [10, 40, 160, 640]
    assert snapshot_steps(64_000, 100, 1) == [640]
    assert snapshot_steps(1_000, 300, 5) == [1, 4]
    assert snapshot_steps(1_000, 100, 3, first=500) == [5, 7, 10]


def test_a_snapshot_is_taken_after_the_last_step_before_a_switch():
    assert snapshot_steps(1_000, 100, 1, switches=[0.25, 0.3]) == [3, 10]
    assert snapshot_steps(1_000, 300, 1, switches=[0.3, 0.99]) == [1, 4]
    assert snapshot_steps(64_000, 100, 4, switches=[0.25]) == [10, 40, 160, 640]


def test_a_budget_is_rounded_up_to_whole_steps():
    assert [whole_steps(budget, 64) for budget in (1, 64, 65, 128)] == [64, 64, 128, 128]


def test_speed_and_share_are_those_of_this_process(tmp_path, monkeypatch):
    """Resumed at step 10 after ten slow seconds; now a step of 64 tokens takes a tenth of a second."""
    trainer, seconds = SimpleNamespace(global_step=10, is_global_zero=True), torch.tensor(10.0)
    module = SimpleNamespace(
        tokens_read=lambda batch_tokens: trainer.global_step * batch_tokens,
        tokens_per_step=lambda batch_tokens: batch_tokens,
        objective=SimpleNamespace(budget_tokens=lambda length: 1000),  # read in 16 steps, which are 1024 tokens
        ledger=SimpleNamespace(seconds=seconds),
    )
    batch = SimpleNamespace(tokens_BT=torch.zeros(4, 16))
    status = Status(tmp_path)
    (tmp_path / "run.lock").touch()
    monkeypatch.setattr(run_directory, "is_locked", lambda run: True)
    shares = []
    for _ in range(6):
        status.on_train_batch_start(trainer, module, batch, 0)
        trainer.global_step += 1
        seconds += 0.1
        status.written = -10.0
        status.on_train_batch_end(trainer, module, None, batch, 0)
        state = run_directory.run_state(tmp_path)
        assert abs(state.tokens_per_second - 640) < 1
        shares.append(run_line(tmp_path).split(": ")[1])
    assert shares[0].startswith("704 of 1,024 tokens (69%), 640 tokens/s, ")
    assert shares[-1] == "1,024 of 1,024 tokens (100%), 640 tokens/s, 0 s of training left"


def test_snapshots_are_measured_without_compiling(graphs, tmp_path, monkeypatch):
    """Their batches are of other sizes, and each would be compiled anew."""
    seen, measure = [], Evaluation.measure

    def counted(self, *arguments):
        before = len(graphs)
        found = measure(self, *arguments)
        seen.append((before, len(graphs)))
        return found

    monkeypatch.setattr(Evaluation, "measure", counted)
    config = {**run_config(tmp_path, "MLM", **{"model.init_args.compile": True}), "data": RULES}
    ObjectiveCLI(fit_arguments(config, tmp_path))
    assert seen and all(before == after > 0 for before, after in seen)
