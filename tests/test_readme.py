"""The README's commands are commands of this program, with settings and files that exist, and its program runs."""

from pathlib import Path

import pytest

from experiments.cli import main
from experiments.sweeps.grid import find_grid, read_grid
from experiments.sweeps.sweep import plan
from experiments.training.command_line import PlannedCLI
from experiments.training.commands import by_bare_name
from objectives import CLM, MLM
from tests.support.random_run import make_run
from tests.support.readme import Readme

ROOT = Path(__file__).parents[1]
README = Readme(ROOT / "README.md")


def commands():
    return [words[1:] for words in README.commands() if words[0] == "clm-vs-mlm"]


def named(*names):
    return [command for command in commands() if command[0] in names]


def test_the_two_commands_stand_there_and_ci_runs_the_second():
    assert 'pip install -e ".[corpora]" && clm-vs-mlm sweep experiments/grids/quickstart.yaml' in README.text
    assert 'pip install -e ".[test]" && pytest' in README.text
    assert 'pip install --quiet -e ".[test]" && pytest' in (ROOT / ".ci" / "run").read_text()
    assert {command[0] for command in commands()} == {"fit", "sweep", "report", "runs", "evaluate", "fill"}


@pytest.mark.parametrize("command", named("fit"), ids=" ".join)
def test_fit(command, tmp_path, monkeypatch):
    """Parsed and checked like the real thing, beside the file of settings that README shows and the run that an earlier
    command of it leaves; other tests train."""
    (tmp_path / "tasks.yaml").write_text("".join(README.settings))
    earlier = tmp_path / "results" / "fit" / "runs" / "clm-01234567"
    earlier.mkdir(parents=True)
    (earlier / "run.json").write_text('{"name": "clm", "hash": "01234567"}')
    monkeypatch.chdir(tmp_path)
    flag = "--name" if "--name" in command else "--config"
    assert PlannedCLI(by_bare_name(list(command))).run.name == command[command.index(flag) + 1]


def test_runs_of_one_directory_have_names_of_their_own():
    """Or `report results/fit` would find one arm twice."""
    names = [command[command.index("--name") + 1] for command in named("fit") if "--name" in command]
    assert len(names) == len(set(names)) >= 5


@pytest.mark.parametrize("command", named("sweep"), ids=" ".join)
def test_sweep(command, monkeypatch):
    """Its options are accepted and its grid is a shipped one; the tests of grids plan those."""
    given = []
    monkeypatch.setattr("experiments.sweeps.sweep.main", lambda options: given.append(options) or (0, None))
    assert main(list(command)) == 0
    (options,) = given
    assert find_grid(options.grid).resolve().parent == ROOT / "experiments" / "grids"


class Seen:
    """Stands for the work behind a command; counts how often its arguments were accepted."""

    calls = 0

    def __call__(self, *_, **__):
        self.calls += 1
        return 0


@pytest.mark.parametrize("command", named("report", "runs", "evaluate"), ids=" ".join)
def test_arguments(command, monkeypatch):
    monkeypatch.setattr("experiments.sweeps.status.main", seen := Seen())
    monkeypatch.setattr("experiments.sweeps.evaluate.main", seen)
    monkeypatch.setattr("analysis.report.write_report", seen)
    assert main(list(command)) == 0
    assert seen.calls == 1


def test_the_runs_it_names_are_those_of_its_grids(tmp_path):
    planned = {run["name"] for run, _ in plan(read_grid(find_grid("quickstart")), tmp_path)}
    used = {Path(command[1]).name for command in named("fill")}
    assert used and used <= planned


def test_commands_with_trained_models(tmp_path, monkeypatch, capsys):
    """Run for real, on runs of random weights in the place of those they name."""
    monkeypatch.chdir(tmp_path)
    for command in named("fill"):
        run = tmp_path / "results/quickstart/runs" / f"{Path(command[1]).name}-0123abcd"
        make_run(run, MLM if "MLM" in command[1] else CLM, "bpe")
        assert main(list(command)) == 0, capsys.readouterr().err
        assert capsys.readouterr().out


@pytest.mark.slow
def test_the_program_trains(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (program,) = README.programs
    assert "200_000" in program
    exec(program.replace("200_000", "4_096"), {})
    targets, loss = map(float, capsys.readouterr().out.splitlines()[-1].split())  # Lightning may print a summary first
    assert 3900 < targets <= 4096
    assert 0 < loss < 10


@pytest.mark.parametrize("page", [ROOT / "README.md", *sorted(ROOT.glob("[!.]*/**/README.md"))], ids=str)
def test_links_are_there(page):
    assert Readme(page).missing_links(page.parent) == []
