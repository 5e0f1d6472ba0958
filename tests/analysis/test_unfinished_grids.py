import os
from dataclasses import replace

import pytest

from analysis.records.read_results import read_results
from analysis.report import main, write_report
from experiments.records.metrics_file import METRICS, STREAM, read_metrics, replace_rows
from experiments.records.quantities import QUANTITIES, TRAINING, read_declarations, write_declarations
from tests.support.grids import CLM, MLM, minimal, proved, write_run
from tests.support.pages import Page


def test_unfinished_grid_says_what_is_missing(builder):
    builder.run(minimal(CLM), 0)
    builder.run(minimal(MLM, 20_000), 0)
    builder.run(minimal(CLM), 1, tokens=50_000, state="interrupted")
    builder.run(minimal(CLM), 3, tokens=200_064, state="interrupted")
    builder.run(minimal(MLM), 1, tokens=2_000, state="failed", error="ValueError: loss is nan", log="runs/x/log.txt")
    builder.pending(minimal(CLM), 2)
    text = Page(write_report(builder.finish()).read_text()).text
    assert "2 of 6 runs are finished" in text
    for said in (
        "clm-s1: resumable at 50,000 of 200,000 tokens",
        "clm-s3: resumable at 200,000 of 200,000 tokens",  # the last of its steps is a whole one
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
        ("plan.json", '[{"name": "x"}]', "no list of runs"),
        ("plan.json", "5", "no list of runs"),
        ("plan.json", "[]", "no list of runs"),
        ("grid.yaml", "a: [", "grid.yaml cannot be read"),
        ("grid.yaml", "title: \udcff", "grid.yaml cannot be read"),
    ],
)
def test_a_damaged_plan_or_grid_is_named_and_the_runs_are_found(builder, capsys, file, text, why):
    builder.run(minimal(CLM), 0)
    (builder.finish() / file).write_text(text, errors="surrogateescape")
    assert main([str(builder.directory)]) == 0
    error = capsys.readouterr().err
    assert why in error and error.count("\n") == 1
    assert "1 of 1 runs are finished" in Page((builder.directory / "report" / "report.html").read_text()).text


def test_what_was_not_measured_stands_beside_the_run(builder):
    builder.run(minimal(CLM), 0)
    run = builder.directory / builder.planned[0]["directory"]
    declared = read_declarations(run)
    kept = tuple(one for one in declared.metrics if "word_swap/accuracy" not in one.quantities)
    (swap,) = (one for one in declared.metrics if one not in kept)
    lacking = replace(swap, not_measured="no sentence is short enough", measured_at={})
    write_declarations(run, replace(declared, metrics=(*kept, lacking)))
    replace_rows(run / METRICS, [row for row in read_metrics(run) if row.quantity not in swap.quantities])
    text = Page(write_report(builder.finish()).read_text()).text
    assert "WordSwap not measured: no sentence is short enough" in text


def cut_half(run):
    lines = (run / METRICS).read_text().splitlines(keepends=True)
    (run / METRICS).write_text("".join(lines[: len(lines) // 2]))


def drop_last_snapshot(run):
    lines = (run / METRICS).read_text().splitlines(keepends=True)
    (run / METRICS).write_text("".join(line for line in lines if "200000" not in line))


def drop_last_score(run):
    lines = (run / METRICS).read_text().splitlines(keepends=True)
    (run / METRICS).write_text("".join(line for line in lines if not ("200000" in line and "word_swap" in line)))


def change(file, old, new):
    def change_it(run):
        text = (run / file).read_text()
        assert old in text
        (run / file).write_text(text.replace(old, new, 1))

    return change_it


def overwrite(file, text):
    return lambda run: (run / file).write_text(text)


DAMAGES = {
    "half of its rows": (cut_half, "of the 8 rows that training recorded"),
    "the last snapshot": (drop_last_snapshot, "has 7 of the 8 rows that training recorded"),
    "the last score": (drop_last_score, "does not hold what experiments.evaluation.WordSwap measured"),
    "no row": (overwrite(METRICS, ""), "has 0 of the 8 rows"),
    "a score": (change(METRICS, "word_swap/accuracy,0.5", "word_swap/accuracy,0.6"), "WordSwap measured"),
    "a count": (change(METRICS, "ledger/targets,990.0", "ledger/targets,991.0"), "rows were altered"),
    "a place on an axis": (change(METRICS, ",4980000000.0,", ",4980000001.0,"), "measured"),
    "no number": (change(METRICS, "word_swap/accuracy,0.", "word_swap/accuracy,O."), "is damaged"),
    "a hash": (change(STREAM, "\n1,0", "\n1,1"), "rows were altered"),
    "the end": (overwrite("DONE", ""), "DONE is damaged"),
    "the end, altered": (change("DONE", '"rows": 8', '"rows": 9'), "has 8 of the 9 rows"),
    "the declarations": (change(QUANTITIES, "higher", "lower"), "quantities.json is damaged"),
    "no object": (overwrite(QUANTITIES, "[]"), "quantities.json is damaged"),
    "the pairing": (overwrite("pairing.json", "3"), "pairing.json is damaged"),
    "its record": (overwrite("run.json", "{"), "run.json is damaged"),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_a_damaged_run_is_named_and_left_out(builder, name):
    """Nothing of it is shown as final, and the others are."""
    damage, said = DAMAGES[name]
    for seed in range(3):
        runs = [builder.run(minimal(plan), seed) for plan in (CLM, MLM)]
    damage(runs[0])
    results = read_results(builder.finish())
    assert [run.name for run in results.runs if not run.finished] == ["clm-s2"]
    clm, mlm = results.arms
    (score,) = results.headline_metrics
    assert sorted(clm.final_scores(score)) == [0, 1] and sorted(mlm.final_scores(score)) == [0, 1, 2]
    (damaged,) = (run for run in results.runs if not run.finished)
    assert damaged.progress.startswith("damaged (") and said in damaged.progress


def test_a_report_says_which_run_is_damaged(builder):
    runs = [builder.run(minimal(CLM), seed) for seed in range(2)]
    cut_half(runs[1])
    text = Page(write_report(builder.finish()).read_text()).text
    assert "1 of 2 runs are finished, in 1 arm; 1 damaged" in text
    assert "clm-s1: damaged (metrics.csv has " in text


def test_a_run_whose_arm_is_not_known_any_more_is_named(tmp_path, capsys):
    for name, plan in (("a", CLM), ("b", MLM)):
        write_run(tmp_path / name, minimal(plan), 0)
    (tmp_path / "a" / "run.json").write_text("[")
    text = Page(write_report(tmp_path).read_text()).text
    assert "a is left out: " in text and "run.json is damaged" in text and "1 of 1 runs are finished" in text


def test_a_score_from_before_the_end_is_no_final_score(builder):
    """Its last snapshot was not measured: what it had in the middle is not what it has at the end."""
    run = builder.run(minimal(CLM), 0)
    rows = [row for row in read_metrics(run) if row.tokens < 200_000 or row.quantity in TRAINING]
    replace_rows(run / METRICS, rows)
    declared = read_declarations(run)
    write_declarations(run, proved(replace(declared, metrics=declared.metrics), rows[:-1]))
    (found,) = read_results(builder.finish()).runs
    (score,) = (quantity for quantity in found.declared.quantities.values() if quantity.name == "word_swap/accuracy")
    assert str(found.final_score(score)) == (
        "missing (the last word-swap accuracy of clm-s0 is from token 100,000, not from the end at 200,000)"
    )


def test_diverged_runs_are_counted_and_named(builder):
    builder.run(minimal(CLM), 0)
    builder.run(minimal(MLM), 0, tokens=2_000, state="diverged", error="diverged at token 2,000 of 200,000 (loss)")
    text = Page(write_report(builder.finish()).read_text()).text
    assert "1 of 2 runs are finished, in 2 arms; 1 diverged" in text
    assert "mlm-s0 diverged: at token 2,000 of 200,000 (loss)" in text
    assert "missing (mlm-s0: diverged at 2,000 of 200,000 tokens)" in text


RENAMES = ["rename the old one", "rename the new one", "clear up"]


@pytest.mark.parametrize("moment", [*RENAMES, "write"])
def test_a_report_that_was_killed_leaves_one_whole_report(builder, monkeypatch, moment):
    builder.run(minimal(CLM), 0)
    page = write_report(builder.finish())
    (page.parent / "mine.txt").write_text("keep")
    builder.run(minimal(MLM), 0)
    builder.finish()

    class Killed(BaseException):
        pass

    calls = []
    rename = os.rename

    def die(*arguments, **_):
        calls.append(arguments)
        if (
            moment == "write"
            or len(calls) == ("rename the old one", "rename the new one", "clear up").index(moment) + 1
        ):
            monkeypatch.setattr("analysis.report.shutil.rmtree", lambda *_, **__: None)  # a kill clears nothing up
            raise Killed
        rename(*arguments)

    monkeypatch.setattr("analysis.report.save_drawing" if moment == "write" else "analysis.report.os.rename", die)
    with pytest.raises(Killed):
        write_report(builder.directory)
    monkeypatch.undo()
    text = Page(write_report(builder.directory).read_text()).text
    assert "2 of 2 runs are finished" in text and (page.parent / "mine.txt").read_text() == "keep"
    assert {path.name for path in builder.directory.iterdir() if "report" in path.name} == {"report", ".report.lock"}


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
    assert [path.name for path in builder.directory.glob(".report*")] == [".report.lock"]
