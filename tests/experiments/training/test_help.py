"""Help shows the options of the classes that are chosen, with the defaults of the chosen configuration."""

import re

import pytest
import yaml

from experiments.cli import main
from experiments.training.command_line import RESERVED
from experiments.training.help import help_last


@pytest.fixture
def help_of(capsys, tmp_path, monkeypatch):
    """The help that `fit` prints with these arguments."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")

    def ask(*arguments):
        with pytest.raises(SystemExit) as stopped:
            main(["fit", *arguments])
        assert stopped.value.code == 0
        printed = capsys.readouterr()
        assert printed.out.startswith("usage: clm-vs-mlm fit "), printed.out[:80]
        assert not printed.err
        return printed.out

    return ask


def default_of(option, text):
    """What the help gives as an option's default."""
    default = r"default: (.*?)(?:,\s+known\s+subclasses:.*?)?\)$"
    found = re.search(rf"^  --{re.escape(option)} .*?{default}", text, flags=re.DOTALL | re.MULTILINE)
    assert found, (option, text)
    return found[1]


def test_ours_come_first_and_the_trainers_stay_away(help_of):
    text = help_of("--help")
    places = [
        text.index(option)
        for option in (
            "--results",
            "--evaluation.snapshots",
            "--model ",
            "--model.init_args.corruption.rate",
            "--model.init_args.encoder.width",
            "--data ",
            "--data.init_args.block_length",
            "--data.init_args.corpus.init_args.validation",
            "--trainer.help",
        )
    ]
    assert places == sorted(places)
    assert "--trainer.devices" not in text
    assert "vocabulary VOCABULARY" not in text and "init_args.seed" not in text
    assert "Share of the regular positions that is selected" in text
    assert text.count("\n") < 250
    assert default_of("model", text) == "objectives.MLM"


def test_defaults_are_those_of_the_configuration(help_of, tmp_path):
    shipped = help_of("--config", "clm", "-h")
    assert default_of("name", shipped) == "clm" and default_of("model", shipped) == "objectives.CLM"
    assert default_of("model.init_args.encoder.depth", shipped) == "3"
    assert default_of("model.init_args.optimizer.decay", shipped) == "linear"
    assert "--model.init_args.corruption" not in shipped[: shipped.index("examples:")]

    config = {
        "record_every_steps": 7,
        "model": {"class_path": "objectives.MLM", "init_args": {"corruption": {"rate": 0.4}}},
        "data": {"class_path": "experiments.data.GeneratedData", "init_args": {"rules": {"states": 5}}},
    }
    (tmp_path / "mine.yaml").write_text(yaml.safe_dump(config))
    own = help_of("--config=mine.yaml", "--model.init_args.encoder.width", "48", "--help")
    assert default_of("record_every_steps", own) == "7"
    assert default_of("model.init_args.corruption.rate", own) == "0.4"
    assert default_of("model.init_args.encoder.width", own) == "48"
    assert default_of("model.init_args.budget.tokens", own) == "null"
    assert default_of("data.init_args.rules.states", own) == "5"
    assert "--data.init_args.corpus" not in own[: own.index("examples:")]


@pytest.mark.parametrize("place", ["first", "last"])
def test_classes_can_be_overridden_before_and_after(place, help_of):
    chosen = ["--config", "clm", "--data", "experiments.data.GeneratedData"]
    text = help_of("--help", *chosen) if place == "first" else help_of(*chosen, "--help")
    assert default_of("data", text) == "experiments.data.GeneratedData"
    assert "--data.init_args.rules.states" in text and "tokenizer" not in text


CLASSES = {
    "data.init_args.corpus": ("experiments.corpora.LocalText", "path PATH"),
    "model": ("objectives.CLM", "encoder.width WIDTH"),
    "data": ("experiments.data.TextData", "block_length"),
}


@pytest.mark.parametrize("key", CLASSES)
def test_help_on_a_class_needs_no_other_option(key, help_of):
    path, option = CLASSES[key]
    text = help_of(f"--{key}.help", path)
    assert path in text and f"--{key}.init_args.{option}" in text
    assert "--results" not in text and "examples:" not in text
    assert text == help_of(f"--{key}.help={path}")
    assert all(shown.startswith(key) for shown in re.findall(r"^  --([\w.]+)", text, flags=re.MULTILINE))


def test_required_options_of_a_class_are_shown_as_such(help_of):
    assert "(required" in help_of("--data.init_args.corpus.help", "LocalText")


def test_help_on_a_group(help_of):
    text = help_of("--config", "clm", "--model.init_args.optimizer.help")
    assert default_of("model.init_args.optimizer.learning_rate", text) == "0.003"
    assert "width" not in text


def test_help_on_the_trainer(help_of):
    text = help_of("--trainer.help")
    assert "--trainer.devices" in text and "--trainer.logger" in text
    assert default_of("trainer.enable_progress_bar", text) == "False"
    assert not any(f"--trainer.{setting} " in text for setting in RESERVED)
    assert "--results" not in text


def test_help_on_a_class_inside_the_trainer(help_of):
    assert "--trainer.logger.save_dir" in help_of("--trainer.logger.help", "CSVLogger")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--model.help", "objectives.Nope"], ["objectives.Nope"]),
        (["--model.help", "nope"], ["nope"]),
        (["--data.init_args.corpus.help", "objectives.CLM"], ["objectives.CLM", "Corpus"]),
        (["--data.init_args.corpus.help", "wave.Wave_read"], ["wave.Wave_read", "--allow-import"]),
        (["--help", "nothing"], ["nothing"]),
        (["--model.nothing.help"], ["model.nothing"]),
        (["--config", "none.yaml", "--help"], ["none.yaml"]),
    ],
)
def test_what_there_is_no_help_on(arguments, words, capfd):
    assert main(["fit", *arguments]) == 2
    printed = capfd.readouterr()
    assert printed.err.startswith("error: ") and printed.err.count("\n") == 1 and not printed.out
    assert all(word in printed.err for word in words), printed.err
    assert len(printed.err) < 400


def test_arguments_without_a_request_are_left_alone():
    arguments = ["fit", "--config", "clm", "--name", "help", "--results", "--trainer.logger.help"]
    assert help_last(arguments, "mlm.yaml") == arguments
