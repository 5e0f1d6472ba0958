"""The worked examples in grids of two seeds, on text and on known rules: killed, reported, scored and exported."""

import csv
import os
import signal
import subprocess
import sys
import time

import pytest
import yaml

from experiments.cli import main
from experiments.records import durable, metrics_file, run_directory
from experiments.records.checkpoints import complete
from experiments.training.command_line import ObjectiveCLI
from tests.support.objectives import EXAMPLES
from tests.support.tiny import METRICS, RULES, grid_base, outcome

pytestmark = pytest.mark.slow

MASKED = {"model.class_path": "objectives.MLM"}
ARMS = {
    "CLM": {"model.class_path": "objectives.CLM"},
    "MLM": {**MASKED, "model.init_args.corruption": {"rate": 0.3}},
    "spaced": {
        **MASKED,
        "model.init_args.corruption": {"rate": 0.3, "selection": {"class_path": f"{EXAMPLES}.own_selection.Spaced"}},
    },
    "prefix 25 %": {"model.class_path": f"{EXAMPLES}.prefix_lm.BlockPrefixLM", "model.init_args.longest": 0.25},
    "prefix 50 %": {"model.class_path": f"{EXAMPLES}.prefix_lm.BlockPrefixLM", "model.init_args.longest": 0.5},
    "both": {"model.class_path": f"{EXAMPLES}.two_views.TwoViews"},
}
OFFERED = {
    "CLM": {"chain_rule"},
    "MLM": {"pll"},
    "spaced": {"pll"},
    "prefix 25 %": {"chain_rule"},
    "prefix 50 %": {"chain_rule"},
    "both": {"chain_rule", "pll"},
}
EXPORTED = {"CLM", "MLM", "spaced"}
BAYES_LOSS_KNOWN = {"CLM", "MLM", "both", "prefix 25 %", "prefix 50 %"}


def write_grid(directory, data):
    base = {**grid_base(directory / "unused.txt"), "checkpoint_every_steps": 2}
    del base["model"]["class_path"]
    base["data"]["init_args"]["corpus"] = f"{EXAMPLES}.own_corpus.Agreement"
    if data == "rules":
        base["data"] = RULES
    base["evaluation"] = {"snapshots": 2, "metrics": [*METRICS, f"{EXAMPLES}.own_metric.Anisotropy"]}
    content = {"title": "Examples", "imports": [EXAMPLES], "base": base, "axes": {"arm": ARMS}, "seeds": [1, 2]}
    path = directory / "examples.yaml"
    path.write_text(yaml.safe_dump(content, sort_keys=False))
    return path


def sweep(grid, results):
    return ["sweep", str(grid), "--results", str(results), "--workers", "2", "--allow-import", EXAMPLES]


@pytest.fixture(scope="module", params=["text", "rules"])
def grid(request, tmp_path_factory):
    """On what, and the directory of a grid that was killed on its way and run again."""
    directory = tmp_path_factory.mktemp(request.param)
    path = write_grid(directory, request.param)
    child = subprocess.Popen(
        [sys.executable, "-m", "experiments.cli", *sweep(path, directory)],
        start_new_session=True,
        stderr=subprocess.DEVNULL,
    )
    kill_on_its_way(child, directory / "examples")
    assert main(sweep(path, directory)) == 0
    return request.param, directory / "examples"


def kill_on_its_way(child, grid):
    """Kill the sweep and its workers once some runs are done and another one has a checkpoint."""
    deadline = time.monotonic() + 300
    while time.monotonic() < deadline:
        done = len(list(grid.glob(f"runs/*/{run_directory.DONE}")))
        begun = [run for run in grid.glob("runs/*") if complete(run / "checkpoints") and not (run / "DONE").exists()]
        if done >= 2 and begun:
            os.killpg(child.pid, signal.SIGKILL)
            child.wait()
            return
        assert child.poll() is None, "the sweep ended before it could be killed"
        time.sleep(0.01)
    raise TimeoutError


def by_arm(grid):
    runs = run_directory.read_runs(grid)
    return {(run["arm"], run["seed"]): grid / run["directory"] for run in runs}


def test_killed_and_resumed_it_is_bit_for_bit_the_same(grid, tmp_path):
    """Compared with runs of the first seed that nothing disturbed."""
    _, directory = grid
    runs = by_arm(directory)
    assert runs.keys() == {(arm, seed) for arm in ARMS for seed in (1, 2)}
    for arm in ARMS:
        run = runs[arm, 1]
        config = ["--config", str(run / run_directory.CONFIG), "--threads", "1", "--results", str(tmp_path)]
        cli = ObjectiveCLI(["fit", *config], [EXAMPLES])
        assert outcome(run) == outcome(cli.run.directory), arm


def table(directory, name):
    with open(directory / "report" / "tables" / f"{name}.csv", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_every_arm_is_in_curves_tables_density_and_factors(grid):
    data, whole = grid
    scores = {row["arm"]: row for row in table(whole, "final_scores")}
    assert scores.keys() == ARMS.keys()
    probe = "number probe, accuracy" if data == "text" else "states probe, accuracy"
    for row in scores.values():
        assert float(row["anisotropy (mean cosine)"]) and float(row[probe]) and row["seeds finished"] == "2 of 2"
    density = {row["arm"]: row for row in table(whole, "density")}
    assert density.keys() == ARMS.keys()
    assert float(density["both"]["nominal targets per token"]) == pytest.approx(1.15)
    prefixes = {row["arm"]: row for row in table(whole, "longest_prefix")}
    assert prefixes.keys() == {"prefix 25 %", "prefix 50 %"}
    assert {row["arm"] for row in table(whole, "selection")} == {"MLM", "spaced"}
    page = (whole / "report" / "report.md").read_text()
    assert all(arm in page for arm in ARMS)
    figures = {path.stem for path in (whole / "report" / "figures").iterdir()}
    assert {"overview", "density", "own-losses"} <= figures
    assert any("anisotropy" in name for name in figures)


def test_known_rules_answer_where_every_view_has_a_channel_that_they_know(grid):
    data, whole = grid
    for (arm, _), run in by_arm(whole).items():
        measured = {row.quantity for row in metrics_file.read_metrics(run)}
        known = data == "rules" and arm in BAYES_LOSS_KNOWN
        assert ("validation/excess_loss" in measured) == known, arm


def printed(capsys, *arguments):
    capsys.readouterr()
    code = main([*map(str, arguments)])
    out, err = capsys.readouterr()
    return code, out, (err.strip().splitlines() or [""])[-1]


@pytest.mark.parametrize("grid", ["text"], indirect=True)
def test_every_arm_is_scored_or_refused_and_exported_or_refused_with_the_reason(grid, tmp_path, capsys):
    pytest.importorskip("transformers")
    _, whole = grid
    (tmp_path / "lines.txt").write_text("the cat near the dogs runs.\n")
    for (arm, seed), run in by_arm(whole).items():
        if seed == 2:
            continue
        for method in ("chain_rule", "pll"):
            options = ("--method", method, "--allow-import", EXAMPLES)
            code, _, last = printed(capsys, "score", run, tmp_path / "lines.txt", *options)
            assert (code == 0) == (method in OFFERED[arm]), (arm, last)
            assert code == 0 or f"cannot be scored by {method}; use " in last
        code, _, last = printed(capsys, "export", run, tmp_path / arm, "--allow-import", EXAMPLES)
        assert (code == 0) == (arm in EXPORTED), (arm, last)
        assert code == 0 or "has no counterpart in transformers" in last


def test_a_run_of_a_grid_is_evaluated_with_what_is_allowed(grid, capsys):
    _, whole = grid
    run = by_arm(whole)["prefix 25 %", 1]
    code, out, _ = printed(capsys, "evaluate", run, "--allow-import", EXAMPLES)
    assert (code, out) == (0, f"{run}\tnothing is missing\n")


def test_the_records_of_a_run_say_what_its_objective_is(grid):
    _, whole = grid
    record = durable.read_mapping(by_arm(whole)["prefix 25 %", 1] / run_directory.RUN)
    assert record["traits"]["numeric"] == {"longest prefix": 0.25}
    assert record["traits"]["question"] == "next token after a prefix of up to 25 %"
