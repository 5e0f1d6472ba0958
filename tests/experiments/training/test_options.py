"""Help and plans without the Trainer's options are what they are with them, and import no Lightning."""

import subprocess
import sys

import pytest

from experiments import configs, grids
from experiments.strict_yaml import dump_yaml
from experiments.sweeps.grid import find_grid, read_grid
from experiments.training.command_line import ObjectiveCLI, PlannedCLI, lightning_defaults
from experiments.training.commands import planned
from experiments.training.help import help_last
from experiments.training.options import lightning_defaults_as_written, parser_without_trainer, run_without_trainer

HEAVY = ("pytorch_lightning", "lightning_fabric", "torchmetrics", "torch._dynamo", "transformers", "datasets")
MLM = ["--config", str(configs.path_of("mlm"))]


def shipped():
    """A command line of every shipped configuration, and of every arm of every shipped grid."""
    found = {name: ["--config", str(configs.path_of(name))] for name in ("clm", "mlm")}
    for name in grids.names():
        for cell in read_grid(find_grid(name)).cells:
            found.setdefault(f"{name}: {cell.arm}", ["--config", dump_yaml(cell.config), "--name", cell.name])
    return found


SHIPPED = shipped()


def said(run):
    """All that is said of a run, in the order in which its config.yaml has it."""
    return run.name, run.hash, run.results, run.traits, run.description, dump_yaml(run.config)


@pytest.mark.parametrize("options", SHIPPED.values(), ids=SHIPPED)
def test_a_run_is_the_same_without_the_trainers_options(options):
    assert said(run_without_trainer(options, ())) == said(PlannedCLI(["fit", *options]).run)


@pytest.mark.parametrize(
    "options",
    [
        ["--trainer.precision", "bf16-mixed"],
        ["--trainer.accumulate_grad_batches=2"],
        ["--config", "trainer: {devices: 2, strategy: ddp}"],
        ["--config", "{trainer: {logger: true}}"],
    ],
    ids=" ".join,
)
def test_settings_of_the_trainer_are_planned_as_they_are_trained(options):
    arguments = ["fit", *MLM, *options]
    assert said(planned(arguments)) == said(PlannedCLI(arguments).run)
    assert said(planned(arguments))[-1] != said(planned(["fit", *MLM]))[-1]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--threads", "1000"], "threads must be from 0 to 256"),
        (["--model.init_args.corruption.rate", "2"], "rate"),
        (["--data.init_args.batch_size", "0"], "batch_size"),
        (["--trainer.max_steps", "7"], "trainer.max_steps .* model.init_args.budget"),
        (["--trainr.devices", "1"], "trainr"),
    ],
)
def test_what_is_wrong_is_said_in_the_same_words(options, words):
    arguments = ["fit", *MLM, *options]
    with pytest.raises(ValueError, match=words):
        planned(arguments)
    with pytest.raises(Exception, match=words):
        PlannedCLI(arguments)
    with pytest.raises(Exception):  # noqa: B017 - whatever it is, the other parser says it
        run_without_trainer(arguments[1:], ())


def test_lightnings_defaults_are_those_that_its_source_says():
    defaults = lightning_defaults()
    del defaults["self"]
    assert lightning_defaults_as_written() == defaults
    assert list(lightning_defaults_as_written()) == list(defaults)


@pytest.mark.parametrize(
    "request_",
    [
        ["--help"],
        ["--config", str(configs.path_of("clm")), "--model.init_args.encoder.depth", "5", "--help"],
        ["--data.init_args.corpus.help", "experiments.corpora.LocalText"],
        ["--evaluation.help"],
    ],
    ids=" ".join,
)
def test_help_is_the_same_without_the_trainers_options(request_, capsys):
    arguments = help_last(["fit", *request_], str(configs.path_of("mlm")))
    texts = []
    for ask in (lambda: parser_without_trainer(()).parse_args(arguments[1:]), lambda: ObjectiveCLI(arguments)):
        with pytest.raises(SystemExit) as stopped:
            ask()
        assert stopped.value.code == 0
        texts.append(capsys.readouterr().out)
    assert texts[0] == texts[1] != ""


@pytest.mark.parametrize("arguments", [["fit", "--help"], ["sweep", "quickstart", "--dry-run"]], ids=" ".join)
def test_help_and_plans_import_nothing_that_trains(arguments, tmp_path):
    program = (
        f"import sys\nfrom experiments.cli import main\n"
        f"try: assert main({arguments}) == 0\nexcept SystemExit as end: assert end.code == 0, end.code\n"
        f"assert not {set(HEAVY)} & set(sys.modules), {set(HEAVY)} & set(sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout
