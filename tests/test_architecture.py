"""Imports go one way, and help comes without the heavy libraries."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FORBIDDEN = {
    "objectives": ("experiments", "analysis"),
    "experiments": ("analysis",),
    "analysis": ("objectives", "torch", "pytorch_lightning"),
}
ON_DISK = ("experiments.records",)
# The two commands that end with a report; they import it inside the function that writes it.
MAY_REPORT = {"experiments/cli.py", "experiments/sweep.py"}


def imported(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module, node
            yield from ((f"{node.module}.{alias.name}", node) for alias in node.names)


@pytest.mark.parametrize("package", FORBIDDEN)
def test_imports_go_one_way(package):
    files = sorted((ROOT / package).glob("**/*.py"))
    assert files
    for path in files:
        name = str(path.relative_to(ROOT))
        tree = ast.parse(path.read_text())
        for module, node in imported(tree):
            first = module.split(".")[0]
            if name in MAY_REPORT and module.startswith("analysis.report"):
                assert node not in tree.body, f"{name} imports {module} for every command"
                continue
            assert first not in FORBIDDEN[package], f"{name} imports {module}"
            if package == "analysis" and first == "experiments":
                assert module.startswith(ON_DISK) or module == "experiments", f"{name} imports {module}"


LIGHT = ("sweep", "runs", "report", "score", "pairs", "fill", "generate", "export")


@pytest.mark.parametrize("arguments", [["--help"], *([command, "--help"] for command in LIGHT)])
def test_help_imports_nothing_heavy(arguments):
    program = (
        "import sys\nfrom experiments.cli import main\n"
        f"try: main({arguments})\nexcept SystemExit as end: assert end.code == 0, end.code\n"
        "heavy = {'torch', 'pytorch_lightning', 'datasets', 'sklearn', 'jsonargparse', 'transformers'}\n"
        "heavy &= set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    assert "usage: clm-vs-mlm" in done.stdout


def test_no_command_and_an_unknown_one_are_refused():
    for arguments in ([], ["train"]):
        command = [sys.executable, "-m", "experiments.cli", *arguments]
        done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
        assert done.returncode == 2
        assert "usage: clm-vs-mlm" in done.stderr


def test_fit_help_explains_the_settings():
    command = [sys.executable, "-m", "experiments.cli", "fit", "--help"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0
    shown = " ".join(done.stdout.split())
    for words in ("--evaluation.snapshots", "log-spaced token counts", "--checkpoint_every_steps", "--model", "--data"):
        assert words in shown
