"""The README's commands run, on runs of random weights in the place of those that it names."""

import re
import shlex
import subprocess
from pathlib import Path

from experiments.cli import main
from experiments.sweeps.grid import find_grid, read_grid
from experiments.sweeps.sweep import plan
from experiments.training.command_line import PlannedCLI
from experiments.training.commands import by_bare_name
from objectives import CLM, MLM
from tests.support.random_run import make_run
from tests.support.readme import Readme

FOLDER = Path(__file__).parents[3] / "experiments" / "inference"
README = Readme(FOLDER / "README.md")


def test_commands_and_program(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for name in README.variables.values():
        path = Path(name)
        run = path.parent / "runs" / f"{path.name}-0a1b2c3d"
        make_run(run, MLM if "mlm" in name.lower() else CLM, "character" if "news" in name else "bpe")
    used, printed = set(), []
    for line, (program, *arguments) in zip(README.lines, README.commands(), strict=True):
        if program == "printf":
            subprocess.run(["bash", "-c", line], check=True)
        elif program == "clm-vs-mlm" and arguments[0] != "fit":
            assert main(arguments) == 0, (line, capsys.readouterr().err)
            printed += capsys.readouterr().out.splitlines()
            used.add(arguments[0])
        else:
            assert program in ("pip", "clm-vs-mlm") or re.fullmatch(r"\w+=\S+", line), line
    assert used == {"score", "pairs", "fill", "generate", "export"}
    shown = "".join(README.outputs).splitlines()
    fixed = [line for line in shown if line.startswith("# ") or line.split("\t")[0] in ("sum", "quantity", "blank")]
    assert len(fixed) > 10 and set(fixed) <= set(printed)  # the notes and headers of the outputs that it shows
    (program,) = README.programs
    exec(program, {})
    assert float(capsys.readouterr().out) < 0


def test_the_runs_it_names_are_those_of_the_quickstart_and_of_its_own_commands(tmp_path):
    directories = [f"quickstart/{run['directory']}" for run, _ in plan(read_grid(find_grid("quickstart")), tmp_path)]
    for command in map(shlex.split, README.lines):
        if command[:2] == ["clm-vs-mlm", "fit"]:
            directories.append(f"fit/{PlannedCLI(by_bare_name(command[1:])).run.description['directory']}")
    named = {re.sub(r"(.*)/runs/(.*)-[0-9a-f]{8}", r"results/\1/\2", directory) for directory in directories}
    assert README.variables and set(README.variables.values()) <= named


def test_links_are_there():
    assert README.missing_links(FOLDER) == []
