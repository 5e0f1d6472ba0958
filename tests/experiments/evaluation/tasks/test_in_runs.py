"""Tasks named in a configuration, from `fit` to the records, and in another one, for a run that is done."""

import json
from pathlib import Path

import pytest
import yaml

from experiments.cli import main
from experiments.evaluation.evaluation import build_metric
from experiments.records import metrics_file
from experiments.records.quantities import read_declarations
from experiments.training.command_line import ObjectiveCLI, PlannedCLI
from tests.support.readme import Readme
from tests.support.tiny import fit_arguments, only_run, run_config, write_text

OURS = "experiments.evaluation"


@pytest.mark.slow
def test_tasks_need_a_configuration_and_no_code(tmp_path):
    lines = write_text(tmp_path / "labelled.txt", lines=120, seed=1).read_text().splitlines()
    for name, some in (("train", lines[:80]), ("test", lines[80:])):
        rows = "".join(f"{line}\t{int('cat' in line)}\n" for line in some)
        (tmp_path / f"{name}.tsv").write_text(f"sentence\tlabel\n{rows}")
    pairs = [
        {"sentence_good": f"the {word} sees", "sentence_bad": f"sees {word} the", "UID": word}
        for word in ("cat", "dog")
    ]
    (tmp_path / "pairs.jsonl").write_text("".join(json.dumps(one) + "\n" for one in pairs))
    files = {"train": str(tmp_path / "train.tsv"), "test": str(tmp_path / "test.tsv")}
    probe = {"task": "cats", "kind": "sequence", "text": "sentence", **files}
    task = {"class_path": f"{OURS}.TaskProbe", "init_args": probe}
    config = run_config(write_text(tmp_path / "text.txt"), evaluation={"snapshots": 2, "metrics": [task]})
    ObjectiveCLI(fit_arguments(config, tmp_path / "results"))
    run = only_run(tmp_path / "results")
    trained = [row for row in metrics_file.read_metrics(run) if row.quantity.startswith("task/")]
    assert {row.quantity for row in trained} >= {"task/cats/mcc", "task/cats/bag_of_tokens_mcc"}
    other = {"class_path": f"{OURS}.TaskProbe", "init_args": {**probe, "task": "twice", "layers": 2, "pooling": "last"}}
    minimal = {
        "class_path": f"{OURS}.MinimalPairs",
        "init_args": {"task": "order", "path": str(tmp_path / "pairs.jsonl")},
    }
    (tmp_path / "more.yaml").write_text(yaml.safe_dump({"evaluation": {"metrics": [task, other, minimal]}}))
    assert main(["evaluate", str(run), "--config", str(tmp_path / "more.yaml")]) == 0
    rows = metrics_file.read_metrics(run)
    assert [row for row in rows if row.quantity.startswith("task/cats/")] == trained  # not measured anew
    names = {row.quantity for row in rows if row.quantity.startswith("task/")}
    assert names >= {"task/twice/accuracy", "task/order/accuracy", "task/order/cat/accuracy", "task/order/dog/accuracy"}
    assert names <= read_declarations(run).quantities.keys()


def test_the_settings_that_the_readme_shows_are_taken(tmp_path):
    page = Readme(Path(__file__).parents[4] / "experiments/evaluation/tasks/README.md")
    (settings,) = page.settings
    config = run_config(write_text(tmp_path / "text.txt"), **yaml.safe_load(settings))
    cli = PlannedCLI(fit_arguments(config, tmp_path / "results"))
    metrics = [build_metric(one) for one in cli.run.config["evaluation"]["metrics"]]
    assert {type(one).__name__ for one in metrics} == {"TaskProbe", "MinimalPairs"} and len(metrics) == 7
