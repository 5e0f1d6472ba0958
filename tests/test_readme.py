"""The README's commands are commands of this program, with settings, runs and files that exist."""

import re
import shlex
import subprocess
from pathlib import Path

import pytest

from experiments.cli import main
from experiments.sweeps.grid import find_grid, read_grid
from experiments.sweeps.sweep import plan
from experiments.training.command_line import PlannedCLI
from experiments.training.commands import by_bare_name
from objectives import CLM, MLM
from tests.support.trained import make_run

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
LINES = [
    line
    for kind, block in re.findall(r"^```(\w*)\n(.*?)^```", README, flags=re.S | re.M)
    if not kind
    for line in block.replace("\\\n", " ").splitlines()
]
VARIABLES = dict(re.findall(r"^(\w+)=(\S+)$", "\n".join(LINES), flags=re.M))
TRAINED = ("score", "pairs", "fill", "generate", "export")


def commands():
    found = []
    for line in LINES:
        for command in line.split(" && "):
            words = shlex.split(command, comments=True)
            if words and words[0] in ("clm-vs-mlm", "pip"):
                found.append(tuple(VARIABLES.get(word.removeprefix("$"), word) for word in words))
    return found


def test_the_two_commands_stand_there_and_ci_runs_the_second():
    assert 'pip install -e ".[corpora]" && clm-vs-mlm sweep experiments/grids/quickstart.yaml' in README
    assert 'pip install -e ".[test]" && pytest' in README
    assert 'pip install --quiet -e ".[test]" && pytest' in (ROOT / ".ci" / "run").read_text()
    assert {command[1] for command in commands() if command[0] == "clm-vs-mlm"} >= {"fit", "sweep", *TRAINED}


@pytest.mark.parametrize(
    "command", [c for c in commands() if c[0] == "clm-vs-mlm" and c[1] not in TRAINED], ids=" ".join
)
def test_command(command, tmp_path, monkeypatch):
    _, name, *arguments = command
    if name == "fit":
        # Parsed and checked like the real thing; another test trains.
        run = PlannedCLI(by_bare_name([name, *arguments])).run
        assert run.description["directory"].startswith("runs/")
        return
    seen = Seen()
    monkeypatch.setattr("experiments.sweeps.sweep.main", lambda options: (seen(), None))
    monkeypatch.setattr("experiments.sweeps.status.main", seen)
    monkeypatch.setattr("experiments.training.evaluate.main", seen)
    monkeypatch.setattr("analysis.report.write_report", seen)
    monkeypatch.chdir(ROOT)
    assert main([name, *arguments]) == 0
    assert seen.calls == 1
    if name == "sweep":
        assert read_grid(find_grid(arguments[0])).cells


class Seen:
    """Stands for the work behind a command; counts how often its arguments were accepted."""

    calls = 0

    def __call__(self, *_, **__):
        self.calls += 1
        return 0


def test_the_runs_it_names_are_those_of_its_commands(tmp_path):
    made = {f"results/quickstart/{cell['directory']}" for cell, _ in plan(read_grid(find_grid("quickstart")), tmp_path)}
    for command in commands():
        if command[:2] == ("clm-vs-mlm", "fit"):
            made.add(f"results/fit/{PlannedCLI(by_bare_name(list(command[1:]))).run.description['directory']}")
    assert VARIABLES and set(VARIABLES.values()) <= made


def test_commands_with_trained_models(tmp_path, monkeypatch, capsys):
    """Run for real and in order, on runs of random weights in the place of those they name."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "results").mkdir()
    for line in LINES:
        if line.startswith("printf "):
            subprocess.run(["bash", "-c", line], check=True)
    for run in VARIABLES.values():
        make_run(tmp_path / run, MLM if "mlm" in run.lower() else CLM, "character" if "news" in run else "bpe")
    for command in commands():
        if command[1] in TRAINED:
            assert main(list(command[1:])) == 0, (command, capsys.readouterr().err)
            assert capsys.readouterr().out
    (program,) = re.findall(r"^```python\n(.*?)^```", README, flags=re.S | re.M)
    exec(program, {})
    assert float(capsys.readouterr().out) < 0


def test_figures_and_links_are_there():
    for target in re.findall(r"\]\(([^)#]+)\)", README):
        assert target.startswith("http") or (ROOT / target).exists(), target
