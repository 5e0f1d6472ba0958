import base64
import csv
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from analysis.records.read_results import read_results
from analysis.report import main, write_report
from analysis.statistics.intervals import paired_difference, t_interval
from analysis.statistics.item_errors import final_scores
from tests.support.declarations import declaration
from tests.support.grids import CLM, MLM, minimal
from tests.support.pages import Page, read_table

WORD_SWAP = declaration("word_swap/accuracy")


@pytest.fixture(scope="module")
def pair_report(pair_grid, tmp_path_factory) -> Path:
    return write_report(pair_grid, tmp_path_factory.mktemp("out") / "report").parent


def test_finished_grid(pair_report):
    assert sorted(path.name for path in pair_report.iterdir()) == [
        "figures",
        "report.html",
        "report.md",
        "tables",
    ]
    names = {path.stem for path in (pair_report / "figures").glob("*.png")}
    assert names == {path.stem for path in (pair_report / "figures").glob("*.svg")}
    assert {
        "overview",
        "own-losses",
        "density",
        "budget-to-threshold",
        "budget-ratios",
        "final-scores",
    } <= names
    page = Page((pair_report / "report.html").read_text())
    assert "6 of 6 runs are finished" in page.text
    assert "clm is ahead" in page.text and "mlm needs more" in page.text
    assert "panels cannot: they differ" in page.text


def test_page_is_self_contained(pair_report):
    page = Page((pair_report / "report.html").read_text())
    sources = [attrs[key] or "" for _, attrs in page.tags for key in ("src", "href") if key in attrs]
    assert sources and all(s.startswith(("data:image/png;base64,", "#")) for s in sources)
    anchors = {attrs.get("id") for _, attrs in page.tags}
    assert all(s[1:] in anchors for s in sources if s.startswith("#"))
    assert not {"script", "link", "iframe"} & {tag for tag, _ in page.tags}
    first = next(s for s in sources if s.startswith("data:"))
    assert base64.b64decode(first.partition(",")[2]) == (pair_report / "figures" / "overview.png").read_bytes()


def test_markdown_links_exist(pair_report):
    links = re.findall(r"\]\(([^)]+)\)", (pair_report / "report.md").read_text())
    assert links and all((pair_report / link).is_file() for link in links)


def test_csv_holds_the_numbers_in_full(pair_grid, pair_report):
    clm, mlm = read_results(pair_grid).arms
    rows = {row["arm"]: row for row in read_table(pair_report / "tables" / "final_scores.csv")}
    for arm in (clm, mlm):
        expected = t_interval(arm.final_scores(WORD_SWAP).values())
        name = "word-swap accuracy"
        found = [float(rows[arm.name][f"{name}{part}"]) for part in ("", " low", " high", " n")]
        assert found == [expected.mean, expected.low, expected.high, 3]
    by_seed = read_table(pair_report / "tables" / "final_scores_by_seed.csv")
    assert {row["run"]: float(row["word_swap/accuracy"]) for row in by_seed} == {
        run.name: run.final_score(WORD_SWAP) for run in read_results(pair_grid).runs
    }
    assert next(r for r in by_seed if r["arm"] == "clm")["cloze/0.3/loss"].startswith("missing (")
    difference = paired_difference(final_scores(mlm, WORD_SWAP), final_scores(clm, WORD_SWAP))
    rows = {row["quantity"]: row for row in read_table(pair_report / "tables" / "final_differences.csv")}
    assert float(rows["word-swap accuracy"]["mean"]) == difference.mean


def test_no_cell_of_any_table_is_blank(pair_report):
    for path in (pair_report / "tables").glob("*.csv"):
        with open(path, encoding="utf-8", newline="") as file:
            lines = list(csv.reader(file))
        assert len({len(line) for line in lines}) == 1, path.name
        assert all(field.strip() for line in lines for field in line), path.name


def test_equal_records_give_equal_bytes(builder, tmp_path):
    for seed in range(2):
        builder.run(minimal(CLM), seed)
        builder.run(minimal(MLM), seed)
    grid = builder.finish()
    pages = [write_report(grid, tmp_path / name) for name in ("one", "two")]
    parts = [{p.relative_to(page.parent): p.read_bytes() for p in page.parent.rglob("*.*")} for page in pages]
    assert parts[0] == parts[1] and len(parts[0]) > 10


def test_names_cannot_inject_anything(builder):
    evil = "<script>alert(1)</script>|$x^$"
    builder.run(replace(minimal(CLM), arm=evil), 0)
    builder.run(minimal(MLM), 0)
    page = write_report(builder.finish(title="<b>T</b> & [x](http://x)"))
    assert "script" not in {tag for tag, _ in Page(page.read_text()).tags}
    assert evil in Page(page.read_text()).text
    markdown = (page.parent / "report.md").read_text()
    assert "<script" not in markdown and "<b>" not in markdown and "[x](http" not in markdown
    for svg in (page.parent / "figures").glob("*.svg"):
        assert "<script" not in svg.read_text()


def test_names_in_chinese(builder):
    builder.run(replace(minimal(CLM), arm="因果"), 0)
    assert "人民日报" in write_report(builder.finish(title="人民日报")).read_text()


def test_command_line(builder, capsys, tmp_path):
    builder.run(minimal(CLM), 0)
    builder.run(minimal(MLM), 0)
    thresholds = ["--threshold", "word_swap/accuracy=0.6", "--threshold", "validation/loss=6.5"]
    out = tmp_path / "out"
    assert main([str(builder.finish()), "--out", str(out), *thresholds, "--x", "flops", "--scale", "linear"]) == 0
    assert capsys.readouterr().out.strip() == str(out / "report.html")
    rows = read_table(out / "tables" / "budgets.csv")
    assert {row["threshold"] for row in rows} >= {"0.6", "6.5"} and "training FLOPs" in rows[0]
    ratios = {row["threshold"]: row["tokens read"] for row in read_table(out / "tables" / "budget_ratios.csv")}
    assert ratios["6.5"] == "missing (the two arms answer different questions)"
    assert float(ratios["0.6"]) == pytest.approx(1.0)


@pytest.mark.parametrize(
    "args",
    [
        [],
        ["--threshold", "x"],
        ["--threshold", "not/recorded=0.5"],
        ["--x", "epochs"],
        ["--out", "{file}"],
    ],
)
def test_bad_arguments_exit_with_2(builder, capsys, tmp_path, args):
    builder.run(minimal(CLM), 0)
    (tmp_path / "file").write_text("")
    given = [arg.format(file=tmp_path / "file") for arg in args]
    assert main([str(builder.finish()), *given] if args else []) == 2
    assert capsys.readouterr().err


def test_opens_without_torch():
    code = "import analysis.report, sys; print({'torch', 'pytorch_lightning', 'pandas'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
