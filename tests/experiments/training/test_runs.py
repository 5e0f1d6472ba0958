"""A run is a directory and an idempotent command: resumed equals uninterrupted, bit for bit."""

import os
import shutil
import signal
import subprocess
import sys
import time

import pytest
import yaml
from filelock import FileLock

from experiments.cli import main
from experiments.records import durable, metrics_file, run_directory
from experiments.records.checkpoints import complete
from experiments.text.tokenizer import Tokenizer
from experiments.training.callbacks import Checkpoints, StopRequest
from experiments.training.command_line import ObjectiveCLI
from experiments.training.loop import Busy, Interrupted, TrainingFailed
from experiments.training.recorder import Recorder
from tests.support.tiny import RULES, fit_arguments, only_run, outcome, run_config


def run_to_the_end(arguments, tries=20):
    for _ in range(tries):
        try:
            ObjectiveCLI(arguments)
            return
        except Interrupted:
            continue
    raise AssertionError("never finished")


PHASES = [
    {"objective": {"class_path": "objectives.CLM"}, "share": 0.35},
    {"objective": {"class_path": "objectives.MLM", "init_args": {"corruption": {}}}, "share": 0.65},
]
PHASED = {"model.class_path": "objectives.Phased", "model.init_args.phases": PHASES}
VARIANTS = {
    "CLM": {},
    "phased": {**PHASED, "model.init_args.optimizer_state": "fresh", "model.init_args.schedule": "phase"},
    "MLM": {"model.init_args.encoder.dropout": 0.1},
    "accumulated": {"trainer.accumulate_grad_batches": 2},
    "workers": {"data.init_args.num_workers": 2},
    "hybrid": {
        "model.class_path": "objectives.Hybrid",
        "model.init_args.causal": {"class_path": "objectives.Scheduled", "init_args": {"start": 1.0, "end": 0.0}},
    },
}


SLOW = ("workers", "hybrid")


@pytest.mark.parametrize(
    "variant", [pytest.param(name, marks=pytest.mark.slow if name in SLOW else ()) for name in VARIANTS]
)
def test_resumed_equals_uninterrupted(variant, text, tmp_path, monkeypatch):
    """Stopped after steps 3, 5 (at a checkpoint), 10, 11 and 12, and resumed each time; phases switch after step 11."""
    config = run_config(text, "CLM" if variant == "CLM" else "MLM", **VARIANTS[variant])
    ObjectiveCLI(fit_arguments(config, tmp_path / "whole"))

    stops = [3, 5, 10, 11, 12]
    original = Checkpoints.on_train_batch_end

    def stop_on_the_way(self, trainer, objective, *rest):
        if (
            stops
            and trainer.global_step == stops[0]
            and rest[-1] % trainer.accumulate_grad_batches == (trainer.accumulate_grad_batches - 1)
        ):
            stops.pop(0)
            os.kill(os.getpid(), signal.SIGTERM)
        original(self, trainer, objective, *rest)

    monkeypatch.setattr(Checkpoints, "on_train_batch_end", stop_on_the_way)
    run_to_the_end(fit_arguments(config, tmp_path / "parts"))
    assert not stops
    whole, parts = outcome(only_run(tmp_path / "whole")), outcome(only_run(tmp_path / "parts"))
    assert whole[0] == parts[0]
    assert whole[1] == parts[1]


@pytest.mark.slow
def test_killed_at_any_moment_and_resumed_equals_uninterrupted(text, tmp_path):
    """kill -9 at three moments: between checkpoints, so rows past the last one are there to be dropped."""
    config = run_config(
        text, "MLM", **{"model.init_args.budget.tokens": 60 * 64, "model.init_args.encoder.dropout": 0.1}
    )
    ObjectiveCLI(fit_arguments(config, tmp_path / "whole"))
    arguments = fit_arguments(config, tmp_path / "parts")
    for step in (7, 24, 41):
        child = subprocess.Popen([sys.executable, "-c", SLOW_RUN, *arguments], stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline and child.poll() is None and last_step(tmp_path / "parts") < step:
            time.sleep(0.02)
        assert child.poll() is None, "the run ended before it could be killed"
        os.kill(child.pid, signal.SIGKILL)
        child.wait()
        state = run_directory.run_state(only_run(tmp_path / "parts"))
        assert state.state == "resumable"
    run_to_the_end(arguments)
    whole, parts = outcome(only_run(tmp_path / "whole")), outcome(only_run(tmp_path / "parts"))
    assert whole[0] == parts[0]
    assert whole[1] == parts[1]


@pytest.mark.slow
def test_phases_killed_before_at_and_after_their_switch_are_those_of_an_undisturbed_run(text, tmp_path):
    config = run_config(text, **PHASED, **{"model.init_args.optimizer_state": "fresh", "checkpoint_every_steps": 1})
    ObjectiveCLI(fit_arguments(config, tmp_path / "whole"))
    arguments = fit_arguments(config, tmp_path / "parts")
    for step in ("10", "11", "12"):
        child = subprocess.run([sys.executable, "-c", KILLED, step, *arguments], stderr=subprocess.DEVNULL)
        assert child.returncode == -signal.SIGKILL
    run_to_the_end(arguments)
    assert outcome(only_run(tmp_path / "parts")) == outcome(only_run(tmp_path / "whole"))


KILLED = """
import os, signal, sys
from experiments.training.callbacks import Status
from experiments.training.command_line import ObjectiveCLI
def die(self, trainer, *rest):
    if trainer.global_step == int(sys.argv[1]):
        os.kill(os.getpid(), signal.SIGKILL)
Status.on_train_batch_end = die
ObjectiveCLI(sys.argv[2:])
"""
SLOW_RUN = """
import sys, time
from experiments.training.callbacks import Status
from experiments.training.command_line import ObjectiveCLI
original = Status.on_train_batch_end
def slowly(self, *arguments):
    self.written = 0.0
    original(self, *arguments)
    time.sleep(0.05)
Status.on_train_batch_end = slowly
ObjectiveCLI(sys.argv[1:])
"""


def last_step(results):
    for path in (results / "runs").glob(f"*/{run_directory.STATUS}"):
        return durable.read_json(path).get("step", 0)
    return 0


@pytest.mark.slow
def test_a_done_run_is_left_alone_and_its_saved_config_runs_it_again(text, tmp_path):
    ObjectiveCLI(fit_arguments(run_config(text), tmp_path / "first"))
    run = only_run(tmp_path / "first")
    before = outcome(run)
    assert ObjectiveCLI(["fit", "--config", str(run / run_directory.CONFIG)]).was_done
    assert main(["fit", "--config", str(run / run_directory.CONFIG)]) == 0
    ObjectiveCLI(["fit", "--config", str(run / run_directory.CONFIG), "--results", str(tmp_path / "second")])
    again = only_run(tmp_path / "second")
    assert again.name == run.name
    assert outcome(again) == before


def test_a_run_killed_before_its_last_word_trains_no_further(text, tmp_path):
    """The checkpoint of the last step is there, DONE is not."""
    arguments = fit_arguments(run_config(text), tmp_path)
    ObjectiveCLI(arguments)
    run = only_run(tmp_path)
    before = outcome(run)
    (run / run_directory.DONE).unlink()
    ObjectiveCLI(arguments)
    assert run_directory.run_state(run).state == "done"
    assert outcome(run) == before


def test_a_budget_in_flops_is_spent(text, tmp_path):
    budget = {"model.init_args.budget": {"tokens": None, "flops": 5e7}}
    for objective in ("CLM", "MLM"):
        ObjectiveCLI(fit_arguments(run_config(text, objective, **budget), tmp_path, objective))
    rows = {run.name.split("-")[0]: metrics_file.read_metrics(run)[-1] for run in (tmp_path / "runs").iterdir()}
    assert rows["MLM"].tokens > rows["CLM"].tokens
    for row in rows.values():
        assert row.flops == pytest.approx(5e7, rel=0.1)


def test_a_stop_that_comes_while_the_run_is_set_up_counts(text, tmp_path):
    stop = StopRequest()
    stop.ask(signal.SIGTERM)
    with pytest.raises(Interrupted):
        ObjectiveCLI(fit_arguments(run_config(text), tmp_path), stop=stop)
    assert last_step(tmp_path) == 1
    ObjectiveCLI(fit_arguments(run_config(text), tmp_path))
    assert run_directory.run_state(only_run(tmp_path)).state == "done"


def test_a_sigterm_before_the_first_step_stops_as_well(text, tmp_path, monkeypatch):
    """Lightning has its own handler in the place of ours then."""

    def terminate(self, *_):
        os.kill(os.getpid(), signal.SIGTERM)

    monkeypatch.setattr(Recorder, "on_train_start", terminate)
    with pytest.raises(Interrupted):
        ObjectiveCLI(fit_arguments(run_config(text), tmp_path))
    assert last_step(tmp_path) == 1
    assert run_directory.run_state(only_run(tmp_path)).state == "resumable"


def test_an_objective_of_another_package_trains_when_it_is_allowed(text, tmp_path, monkeypatch, capsys):
    (tmp_path / "elsewhere").mkdir()
    module = "from objectives import MLM\n\n\nclass Mine(MLM):\n    pass\n"
    (tmp_path / "elsewhere" / "my_objectives.py").write_text(module)
    monkeypatch.syspath_prepend(str(tmp_path / "elsewhere"))
    arguments = fit_arguments(run_config(text, **{"model.class_path": "my_objectives.Mine"}), tmp_path)
    assert main(arguments) == 2
    assert "--allow-import" in capsys.readouterr().err
    assert main([*arguments, "--allow-import", "my_objectives"]) == 0
    assert durable.read_json(only_run(tmp_path) / run_directory.RUN)["objective"] == "Mine"


def test_what_goes_wrong_inside_training_keeps_its_traceback(text, tmp_path, monkeypatch):
    def broken(self, *arguments):
        raise ValueError("deep inside")

    monkeypatch.setattr("objectives.MLM.views", broken)
    with pytest.raises(TrainingFailed, match="deep inside") as failure:
        main(fit_arguments(run_config(text), tmp_path))
    assert isinstance(failure.value.__cause__, ValueError)
    assert run_directory.run_state(only_run(tmp_path)).state == "failed"


@pytest.mark.parametrize(
    ("selection", "name"), [("Words", "Words"), ({"class_path": "objectives.Spans"}, "Spans (p 0.2, up to 10)")]
)
def test_words_and_spans_are_trained_and_measured(text, tmp_path, selection, name):
    config = run_config(text, **{"model.init_args.corruption": {"rate": 0.3, "selection": selection}})
    assert main(fit_arguments(config, tmp_path)) == 0
    run = only_run(tmp_path)
    record = durable.read_json(run / run_directory.RUN)
    assert record["traits"]["categorical"]["selection"] == name and name in record["traits"]["question"]
    measured = {row.quantity: row.value for row in metrics_file.read_metrics(run)}
    assert measured["validation/density"] == pytest.approx(0.3, abs=0.12)
    assert "validation/bayes_loss" not in measured


def test_words_of_a_language_that_has_none_are_refused_with_the_reason(text, tmp_path):
    config = run_config(text, **{"model.init_args.corruption": {"selection": {"class_path": "objectives.Words"}}})
    with pytest.raises(TrainingFailed, match="the data knows no words"):
        main(fit_arguments(config | {"data": RULES}, tmp_path))


def test_what_a_run_leaves(text, tmp_path):
    config = run_config(text, **{"model.init_args.corruption.rate": 0.3})
    ObjectiveCLI(fit_arguments(config, tmp_path))
    run = only_run(tmp_path)
    record = durable.read_json(run / run_directory.RUN)
    assert (record["objective"], record["attention"]) == ("MLM", "bidirectional")
    assert record["traits"]["numeric"] == {"mask rate": 0.3}
    assert record["traits"]["categorical"] == {
        "corruption mix": "80/10/10",
        "selection": "Bernoulli",
        "rate schedule": "30 %",
    }
    assert record["budget_tokens"] == 30 * 64 and record["nominal_density"] == 0.3
    assert run_directory.run_state(run).state == "done"
    assert durable.read_json(run / run_directory.ENVIRONMENT)["threads"] == 1
    assert set(durable.read_json(run / run_directory.PAIRING)) == {"encoder", "tokenizer", "data", "world_size"}
    rows = metrics_file.read_metrics(run)
    quantities = {row.quantity for row in rows}
    assert {
        "train/loss",
        "validation/loss",
        "cloze/0.15/loss",
        "cloze/0.5/loss",
        "word_swap/accuracy",
    } <= quantities
    assert len({(row.step, row.quantity) for row in rows}) == len(rows)
    last = [row for row in rows if row.step == 30]
    assert {row.tokens for row in last} == {30 * 64}
    assert {row.targets for row in last} == {row.value for row in last if row.quantity == "ledger/targets"}
    assert len(complete(run / "snapshots")) == 3
    assert (
        Tokenizer.load(run / "tokenizer.json").fingerprint
        == durable.read_json(run / run_directory.PAIRING)["tokenizer"]
    )
    assert yaml.safe_load((run / run_directory.CONFIG).read_text())["model"]["init_args"]["corruption"]["rate"] == 0.3


def test_arms_of_one_seed_are_paired_and_seeds_are_not(text, tmp_path):
    for objective, seed in (("CLM", 1), ("MLM", 1), ("MLM", 2)):
        config = run_config(text, objective, seed_everything=seed)
        ObjectiveCLI(fit_arguments(config, tmp_path, f"{objective}{seed}"))
    runs = {path.name.split("-")[0]: path for path in (tmp_path / "runs").iterdir()}
    proofs = {name: durable.read_json(run / run_directory.PAIRING) for name, run in runs.items()}
    streams = {name: metrics_file.read_stream(run) for name, run in runs.items()}
    assert proofs["CLM1"] == proofs["MLM1"] != proofs["MLM2"]
    assert proofs["CLM1"]["data"] == proofs["MLM2"]["data"]
    assert streams["CLM1"] == streams["MLM1"] != streams["MLM2"]


def test_sparse_supervision_is_accounted_for(text, tmp_path):
    for objective in ("CLM", "MLM"):
        ObjectiveCLI(fit_arguments(run_config(text, objective), tmp_path, objective))
    density = {}
    for run in (tmp_path / "runs").iterdir():
        final = [row for row in metrics_file.read_metrics(run) if row.quantity == "ledger/density"][-1]
        density[run.name.split("-")[0]] = final.value
    assert density["MLM"] == pytest.approx(0.15, abs=0.04)
    assert density["CLM"] > 0.8


def test_two_processes_do_not_work_on_one_run(text, tmp_path):
    config = run_config(text)
    arguments = fit_arguments(config, tmp_path)
    ObjectiveCLI(arguments)
    run = only_run(tmp_path)
    (run / run_directory.DONE).unlink()
    shutil.rmtree(tmp_path / "data")
    with FileLock(run / run_directory.LOCK):
        assert run_directory.run_state(run).state == "running"
        with pytest.raises(Busy, match="another process"):
            ObjectiveCLI(arguments)
    assert not (tmp_path / "data").exists(), "data is made by whoever works on the run"
    ObjectiveCLI(arguments)
    assert run_directory.run_state(run).state == "done"


@pytest.mark.slow
def test_two_ranks_train_as_one(text, tmp_path):
    """Two gloo ranks of 4 blocks read and learn what one of 8 does, and are counted as one run."""
    one = run_config(text, **{"data.init_args.batch_size": 8})
    ObjectiveCLI(fit_arguments(one, tmp_path / "one"))
    two = run_config(text, trainer={"accelerator": "cpu", "devices": 2, "strategy": "ddp"})
    (tmp_path / "two.yaml").write_text(yaml.safe_dump(two))
    command = [sys.executable, "-m", "experiments.cli", "fit", "--config", str(tmp_path / "two.yaml")]
    subprocess.run([*command, "--results", str(tmp_path / "two")], check=True, stderr=subprocess.DEVNULL, timeout=240)
    recorded = [metrics_file.read_metrics(only_run(tmp_path / name)) for name in ("one", "two")]
    assert len(recorded[0]) == len(recorded[1])
    last = [{row.quantity: row for row in rows} for rows in recorded]
    for quantity in ("ledger/selected", "ledger/corrupted", "ledger/targets"):
        one, two = (rows[quantity]._replace(seconds=0.0) for rows in last)
        # The last layer has as many queries in each row as the row of its batch with most targets.
        assert one.flops == pytest.approx(two.flops, rel=0.01) and one._replace(flops=0) == two._replace(flops=0)
    for quantity in ("validation/loss", "cloze/0.5/loss", "word_swap/accuracy"):
        assert last[0][quantity].value == pytest.approx(last[1][quantity].value, rel=1e-3), quantity
    assert durable.read_json(only_run(tmp_path / "two") / run_directory.PAIRING)["world_size"] == 2


@pytest.mark.slow
def test_mixed_precision_ends_where_float32_does(tmp_path):
    """Within what another seed makes of it, on a language whose Bayes loss is known: the excess falls from 0.4 nats."""
    excess = {}
    for precision, seed in (("32-true", 1), ("32-true", 2), ("bf16-mixed", 1)):
        changes = {"model.init_args.budget.tokens": 60_000, "seed_everything": seed, "trainer.precision": precision}
        config = {**run_config(tmp_path, "CLM", **changes), "data": RULES}
        results = tmp_path / f"{precision}-{seed}"
        ObjectiveCLI(fit_arguments({**config, "record_every_steps": 500, "checkpoint_every_steps": 500}, results))
        rows = metrics_file.read_metrics(only_run(results))
        excess[precision, seed] = [row.value for row in rows if row.quantity == "validation/excess_loss"]
    first, other, mixed = excess.values()
    assert first[0] > 3 * first[-1], "it has learned something"
    noise = max(abs(one - two) for one, two in zip(first, other, strict=True))
    assert first != mixed
    assert max(abs(one - two) for one, two in zip(first, mixed, strict=True)) < noise
