"""The architecture: imports point one way without cycles, folders are small and explained, and help comes at once."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from experiments.cli import COMMANDS

ROOT = Path(__file__).parents[1]
PACKAGES = ("objectives", "experiments", "analysis")
FORBIDDEN = {
    "objectives": ("experiments", "analysis"),
    "experiments": ("analysis",),
    "analysis": ("objectives", "torch", "pytorch_lightning"),
}
COMPOSES = "experiments.cli"
"""The one module that knows all three packages; it imports the report inside the functions that write it."""
# Layers of a package: a folder imports from its own line and from the lines before it.
LAYERS = {
    "objectives": [
        ["class_paths", "vocabulary", "encoder", "traits"],
        ["view"],
        ["training"],
        ["settings", "corruption"],
        ["identity"],
        ["base"],
        ["clm", "mlm", "masked_diffusion", "checkpoint", "inference", "lightning_module"],
    ],
    "experiments": [
        ["records", "shipped", "strict_yaml"],
        ["configs", "grids"],
        ["corpora"],
        ["languages", "text"],
        ["data"],
        ["evaluation"],
        ["training"],
        ["sweeps", "inference"],
        ["cli", "benchmarks"],
    ],
    "analysis": [["records"], ["statistics"], ["tables"], ["figures"], ["sections"], ["templates", "report"]],
}
MOST_FILES = 12
LONGEST_FILE = 400


def module_name(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


MODULES = {module_name(path): path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))}


def imports(path: Path) -> Iterator[str]:
    """Every module that a file imports, wherever in the file, as a name of MODULES where it is one of ours."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{path} has a relative import"
            for alias in node.names:
                full = f"{node.module}.{alias.name}"
                yield full if full in MODULES else str(node.module)


GRAPH = {name: {found for found in imports(path) if found in MODULES} - {name} for name, path in MODULES.items()}


@pytest.mark.parametrize("package", PACKAGES)
def test_packages_import_one_way(package):
    for name, path in MODULES.items():
        if name.split(".")[0] != package:
            continue
        for found in imports(path):
            first = found.split(".")[0]
            if name == COMPOSES and first == "analysis":
                continue
            assert first not in FORBIDDEN[package], f"{name} imports {found}"
            if package == "analysis" and first == "experiments":
                assert found.startswith("experiments.records"), f"{name} imports {found}"


def test_the_composing_module_imports_the_report_inside_functions_only():
    body = ast.parse(MODULES[COMPOSES].read_text(encoding="utf-8")).body
    top = [node for node in body if isinstance(node, ast.Import | ast.ImportFrom)]
    assert not [node for node in top if "analysis" in ast.dump(node)]


def test_records_are_light():
    """The records are all that the analysis imports of the runs, and a report opens in seconds."""
    allowed = set(sys.stdlib_module_names) | {"experiments", "filelock"}
    for name, path in MODULES.items():
        if name.startswith("experiments.records"):
            assert {found.split(".")[0] for found in imports(path)} <= allowed, name


@pytest.mark.parametrize("package", PACKAGES)
def test_folders_import_downwards(package):
    layer = {folder: number for number, folders in enumerate(LAYERS[package]) for folder in folders}
    for name, found in GRAPH.items():
        parts = name.split(".")
        if parts[0] != package or len(parts) == 1:
            continue
        assert parts[1] in layer, f"{name}: give {parts[1]} a layer"
        for other in found:
            below = other.split(".")
            if below[0] == package and len(below) > 1:
                assert layer[below[1]] <= layer[parts[1]], f"{name} imports {other}, which is above it"


def test_there_are_no_import_cycles():
    """Also not behind TYPE_CHECKING or inside a function; what a package's face hands on is no file's import."""
    faces = {name for name, path in MODULES.items() if path.name == "__init__.py"}
    done: set[str] = set()

    def visit(name: str, way: tuple[str, ...]) -> None:
        assert name not in way, " > ".join([*way[way.index(name) :], name])
        if name not in done:
            for other in sorted(GRAPH[name] - faces):
                visit(other, (*way, name))
            done.add(name)

    for name in MODULES:
        visit(name, ())


def test_nothing_is_imported_for_types_alone():
    for name, path in MODULES.items():
        assert "TYPE_CHECKING" not in path.read_text(encoding="utf-8"), name


def folders() -> dict[Path, list[Path]]:
    found: dict[Path, list[Path]] = {}
    for path in MODULES.values():
        if path.name != "__init__.py":
            found.setdefault(path.parent, []).append(path)
    return found


@pytest.mark.parametrize("folder", folders(), ids=lambda folder: str(folder.relative_to(ROOT)))
def test_a_folder_is_small_and_its_readme_names_every_file(folder):
    files = folders()[folder]
    assert len(files) <= MOST_FILES
    for path in files:
        assert path.read_text(encoding="utf-8").count("\n") <= LONGEST_FILE, path
    readme = next(page for page in (folder / "README.md", folder.parent / "README.md") if page.exists())
    text = readme.read_text(encoding="utf-8")
    silent = [path.stem for path in files if not re.search(rf"\b{re.escape(path.stem)}\b", text)]
    assert not silent, f"{readme} does not name {silent}"


def test_a_package_readme_names_every_folder():
    for package in PACKAGES:
        text = (ROOT / package / "README.md").read_text(encoding="utf-8")
        inside = {name.split(".")[1] for name in MODULES if name.startswith(f"{package}.")}
        silent = [name for name in inside if not re.search(rf"\b{name}\b", text)]
        assert not silent, f"{package}/README.md does not name {silent}"


def test_nobody_asks_for_an_objective_by_name():
    """An objective says of itself what others need to know; who compares names knows two of them."""
    asks = re.compile(r"""isinstance\([^)]*\b(MLM|CLM)\b|[=!]= ?["'](CLM|MLM)["']|getattr\([^)]*["']corruption["']""")
    for name, path in MODULES.items():
        if not name.startswith("objectives"):
            assert not asks.search(path.read_text(encoding="utf-8")), name


def test_tests_mirror_the_packages():
    for path in (ROOT / "tests").rglob("test_*.py"):
        inside = path.parent.relative_to(ROOT / "tests")
        assert (ROOT / inside).is_dir(), f"{path}: no such folder outside of tests"
    for path in (ROOT / "tests").rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"^from tests\.(?!support\b)", text, flags=re.M), f"{path} imports tests as a library"


LIGHT = [command for command in COMMANDS if command != "fit"]


@pytest.mark.parametrize("arguments", [["--help"], *([command, "--help"] for command in LIGHT)], ids=" ".join)
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
