"""A metric that the analysis has never heard of is in all parts of a report, by what it declares."""

import ast
from dataclasses import replace
from pathlib import Path

import pytest

import analysis
from analysis.report import main, write_report
from experiments.records.quantities import Quantity
from tests.support.grids import CLM, MLM, falling, minimal, rising
from tests.support.pages import Page, read_table

COPY = Quantity(
    "copy/accuracy", "copied tokens", "share", "higher", "all", chance=0.1, description="How much is copied."
)
ERRORS = Quantity("copy/errors", "copying errors", "errors per token", "lower", "all", chance=9.0)
DISTANCE = Quantity("copy/distance", "copying distance", "nats", "lower", "all", scale="log", best=0.0)
DECLARED = (COPY, ERRORS, DISTANCE)


def plan(base, half, start=40.0, **changes):
    quantities = {
        COPY.name: rising(0.1, 0.9, half, 0.004),
        ERRORS.name: rising(9.0, 1.0, half, 0.02),
        DISTANCE.name: falling(start),
        "validation/loss": rising(8, 4, half),
    }
    return replace(base, quantities=quantities, declared=DECLARED, **changes)


@pytest.fixture(scope="module")
def report(tmp_path_factory) -> Path:
    from tests.support.grids import GridBuilder

    builder = GridBuilder(tmp_path_factory.mktemp("declared") / "grid")
    for seed in range(3):
        builder.run(plan(CLM, 8_000, 20), seed)
        builder.run(plan(MLM, 30_000, 40), seed)
    return write_report(builder.finish()).parent


@pytest.mark.parametrize(
    ("quantity", "name"),
    [
        (COPY, "copied tokens (share)"),
        (ERRORS, "copying errors (errors per token)"),
        (DISTANCE, "copying distance (nats)"),
    ],
)
def test_a_users_metric_is_in_every_table_and_figure(report, quantity, name):
    assert name in read_table(report / "tables" / "final_scores.csv")[0]
    assert quantity.name in read_table(report / "tables" / "final_scores_by_seed.csv")[0]
    for table in ("final_differences", "budgets", "budget_ratios", "crossovers"):
        assert name in {row["quantity"] for row in read_table(report / "tables" / f"{table}.csv")}, table
    (difference,) = [r for r in read_table(report / "tables" / "final_differences.csv") if r["quantity"] == name]
    assert difference["verdict"] == "clm is ahead"
    assert (report / "figures" / f"curves-{quantity.name.replace('/', '-')}.png").exists()
    summary = [line for line in (report / "report.md").read_text().splitlines() if line.startswith("- ")]
    less = ", less is better" if quantity.better == "lower" else ""
    capitalised = name[0].upper() + name[1:]
    assert any(f"{capitalised}{less}, at the end: clm " in line for line in summary)
    assert any(f"To reach {name}" in line for line in summary)
    for figure in ("overview", "final-scores", "budget-to-threshold"):
        assert f">{quantity.label}</text>" in (report / "figures" / f"{figure}.svg").read_text(), figure


def test_what_a_metric_describes_and_its_chance_are_shown(report):
    text = Page((report / "report.html").read_text()).text
    assert "How much is copied." in text
    assert "Baselines and bounds" in text and ">chance</text>" in (report / "figures" / "overview.svg").read_text()


def test_thresholds_of_a_falling_metric_go_down_from_chance_and_those_on_a_log_scale_are_a_ladder(report):
    rows = read_table(report / "tables" / "budgets.csv")
    errors = [float(r["threshold"]) for r in rows if r["quantity"].startswith("copying errors") and r["arm"] == "clm"]
    assert errors == sorted(errors, reverse=True) and max(errors) < 9.0
    ladder = [float(r["threshold"]) for r in rows if r["quantity"].startswith("copying distance") and r["arm"] == "clm"]
    assert ladder == [1, 0.5, 0.2, 0.1, 0.05]


def test_settings_that_differ_are_not_compared(builder):
    for seed in range(2):
        builder.run(replace(minimal(CLM), settings={"pairs": 100}), seed)
        builder.run(replace(minimal(MLM), settings={"pairs": 200}), seed)
    page = write_report(builder.finish())
    text = Page(page.read_text()).text
    assert "word-swap accuracy was measured with other settings in mlm-s0; mlm-s1 than in clm-s0" in text
    for table, column in (("final_differences", "mean"), ("budget_ratios", "tokens read")):
        (value,) = {row[column] for row in read_table(page.parent / "tables" / f"{table}.csv")}
        assert value == "missing (measured with other settings in mlm-s0 than in clm-s0)"


def test_own_scores_are_compared_between_arms_of_one_question(builder, tmp_path):
    for seed in range(2):
        builder.run(minimal(CLM), seed)
        builder.run(replace(minimal(CLM, 20_000), arm="slower"), seed)
        builder.run(minimal(MLM), seed)
    out = tmp_path / "out"
    assert main([str(builder.finish(reference="clm", baseline="clm")), "--out", str(out)]) == 0
    rows = read_table(out / "tables" / "own_scores.csv")
    assert [row["question"] for row in rows] == ["next token", "next token", "masked tokens (15 %, 80/10/10)"]


SHIPPED = ("probe/", "cloze", "word_swap", "excess_loss", "validation/", "train/", "bayes", "majority")


def test_the_analysis_knows_no_quantity_by_name():
    """Names of quantities are neither written in the analysis nor taken apart by it."""
    sources = [path for path in Path(analysis.__file__).parent.rglob("*.py")]
    for path in sources:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        docstrings = {
            node.body[0].value
            for node in ast.walk(tree)
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node)
        }
        texts = [n for n in ast.walk(tree) if isinstance(n, ast.Constant) and isinstance(n.value, str)]
        for text in texts:
            found = [name for name in SHIPPED if name in text.value.lower() and text not in docstrings]
            assert not found, f"{path.name} names a quantity: {text.value}"


def test_regular_expressions_are_for_names_of_files_and_for_markdown_alone():
    sources = Path(analysis.__file__).parent.rglob("*.py")
    found = {path.name for path in sources if "import re\n" in path.read_text(encoding="utf-8")}
    assert found <= {"report.py", "document.py", "table.py"}
