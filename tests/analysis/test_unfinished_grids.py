from dataclasses import replace

import pytest

from analysis.report import main, write_report
from tests.support.grids import CLM, MLM, minimal, write_run
from tests.support.pages import Page


def test_unfinished_grid_says_what_is_missing(builder):
    builder.run(minimal(CLM), 0)
    builder.run(minimal(MLM, 20_000), 0)
    builder.run(minimal(CLM), 1, tokens=50_000, state="interrupted")
    builder.run(minimal(MLM), 1, tokens=2_000, state="failed", error="ValueError: loss is nan", log="runs/x/log.txt")
    builder.pending(minimal(CLM), 2)
    text = Page(write_report(builder.finish()).read_text()).text
    assert "2 of 5 runs are finished" in text
    for said in (
        "clm-s1: resumable at 50,000 of 200,000 tokens",
        "mlm-s1 failed: ValueError: loss is nan (log: runs/x/log.txt)",
        "clm-s2: pending",
        "one seed, no interval",
    ):
        assert said in text


def test_nothing_finished(builder):
    builder.run(minimal(CLM), 0, tokens=5_000, state="interrupted")
    builder.run(minimal(MLM), 0, tokens=5_000, state="interrupted")
    text = Page(write_report(builder.finish()).read_text()).text
    assert "0 of 2 runs are finished" in text
    assert "missing (clm-s0: resumable at 5,000 of 200,000 tokens)" in text
    assert "no thresholds, no finished run" in text


def test_empty_grid(builder):
    builder.pending(CLM, 0)
    builder.pending(MLM, 0)
    page = write_report(builder.finish())
    assert "No run has recorded anything yet" in Page(page.read_text()).text
    assert not list((page.parent / "figures").iterdir())


def test_grid_without_runs(builder):
    assert "0 of 0 runs" in Page(write_report(builder.finish()).read_text()).text


def test_single_run(tmp_path):
    write_run(tmp_path / "run", minimal(CLM), 0)
    text = Page(write_report(tmp_path / "run").read_text()).text
    assert "1 of 1 runs are finished" in text and "nothing is compared" in text


def test_no_grid_is_one_clear_line(tmp_path, capsys):
    (tmp_path / "other").mkdir()
    with pytest.raises(ValueError, match="holds no run"):
        write_report(tmp_path / "other")
    for directory in ("other", "absent"):
        assert main([str(tmp_path / directory)]) == 2
        error = capsys.readouterr().err
        assert error.count("\n") == 1 and directory in error
    assert not list(tmp_path.glob("**/report*"))


def test_a_run_that_has_not_begun_may_not_know_its_budget(builder):
    builder.run(CLM, 0)
    builder.pending(MLM, 0)
    builder.planned[-1] = {
        k: v for k, v in builder.planned[-1].items() if k not in ("budget_tokens", "nominal_density")
    }
    text = Page(write_report(builder.finish()).read_text()).text
    assert "different budgets" not in text and "missing (known once it begins)" in text


@pytest.mark.parametrize(
    ("file", "text", "why"),
    [
        ("plan.json", "{", "not valid JSON"),
        ("plan.json", '[{"name": "x"}]', "lacks 'directory'"),
        ("grid.yaml", "a: [", "not valid YAML"),
    ],
)
def test_damaged_records_are_one_clear_line(builder, capsys, file, text, why):
    builder.run(minimal(CLM), 0)
    (builder.finish() / file).write_text(text)
    assert main([str(builder.directory)]) == 2
    error = capsys.readouterr().err
    assert why in error and error.count("\n") == 1


def test_values_that_are_not_finite_are_left_out_and_said(builder):
    quantities = {"word_swap/accuracy": lambda t, s: float("nan") if t > 20_000 else 0.6}
    builder.run(replace(CLM, quantities=quantities), 0)
    builder.run(replace(MLM, quantities={"word_swap/accuracy": lambda t, s: float("inf")}), 0)
    text = Page(write_report(builder.finish()).read_text()).text
    assert "values that are not finite left out of word_swap/accuracy" in text
    assert "missing (the last word-swap accuracy of mlm-s0 is not finite)" in text


def test_report_replaces_its_own_parts_only_and_only_when_whole(builder, monkeypatch):
    builder.run(CLM, 0)
    page = write_report(builder.finish())
    (page.parent / "mine.txt").write_text("keep")
    (page.parent / "figures" / "stale.png").write_text("drop")
    before = page.read_text()
    monkeypatch.setattr("analysis.report.save_drawing", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        write_report(builder.directory)
    assert page.read_text() == before and (page.parent / "figures" / "stale.png").exists()
    monkeypatch.undo()
    write_report(builder.directory)
    assert (page.parent / "mine.txt").exists() and not (page.parent / "figures" / "stale.png").exists()
    assert not list(builder.directory.glob(".report*"))
