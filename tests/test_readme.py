"""The README's commands are commands of this program, with settings that exist."""

import re
import shlex
from pathlib import Path

import pytest

from experiments.cli import main
from experiments.grid import find_grid, read_grid
from experiments.run import by_bare_name
from experiments.training import PlannedCLI

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def commands():
    blocks = re.findall(r"^```\n(.*?)^```", README, flags=re.S | re.M)
    lines = "\n".join(blocks).replace("\\\n", " ").splitlines()
    pieces = [piece for line in lines for piece in shlex.split(line, comments=True) or []]
    found, current = [], []
    for piece in [*pieces, "&&"]:
        if piece in ("&&", "clm-vs-mlm", "pip") and current:
            found.append(current)
            current = []
        if piece != "&&":
            current.append(piece)
    return [tuple(command) for command in found]


def test_the_two_commands_stand_there_and_ci_runs_the_second():
    assert 'pip install -e ".[corpora]" && clm-vs-mlm sweep experiments/grids/quickstart.yaml' in README
    assert 'pip install -e ".[test]" && pytest' in README
    assert 'pip install --quiet -e ".[test]" && pytest' in (ROOT / ".ci" / "run").read_text()


@pytest.mark.parametrize("command", [c for c in commands() if c[0] == "clm-vs-mlm"], ids=" ".join)
def test_command(command, tmp_path, monkeypatch):
    _, name, *arguments = command
    if name in ("fit", "test"):
        # Parsed and checked like the real thing; another test trains.
        arguments = [argument.replace("RUN/config.yaml", "clm") for argument in arguments]
        cell = PlannedCLI(by_bare_name([name, *arguments])).cell
        assert cell["directory"].startswith("runs/")
        return
    monkeypatch.setattr("experiments.sweep.main", seen := Seen())
    monkeypatch.setattr("experiments.runs.main", seen)
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


def test_figures_and_links_are_there():
    for target in re.findall(r"\]\(([^)#]+)\)", README):
        assert target.startswith("http") or (ROOT / target).exists(), target
