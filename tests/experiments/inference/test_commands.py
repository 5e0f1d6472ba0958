"""The commands that use a trained model need nothing that trains one."""

import json
import subprocess
import sys

import pytest

from objectives import CLM, MLM
from tests.support.random_run import make_run

HEAVY = (
    "pytorch_lightning",
    "lightning_fabric",
    "torchmetrics",
    "jsonargparse",
    "datasets",
    "sklearn",
    "scipy.stats",
    "pandas",
    "matplotlib",
    "transformers",
)
"""Each takes up to seconds to import, and a forward pass needs none of them."""


@pytest.mark.parametrize("name", ["score", "pairs", "fill", "generate", "export", "runs"])
def test_using_a_model_imports_nothing_that_trains(name, tmp_path):
    run = make_run(tmp_path / "run", CLM if name == "generate" else MLM)
    (tmp_path / "lines.txt").write_text("the old cat\n")
    (tmp_path / "pairs.jsonl").write_text(json.dumps({"sentence_good": "the old cat", "sentence_bad": "old the cat"}))
    arguments = {
        "score": [str(run), str(tmp_path / "lines.txt")],
        "pairs": [str(run), str(tmp_path / "pairs.jsonl")],
        "fill": [str(run), "the [MASK] cat"],
        "generate": [str(run), "--length", "3"],
        "export": [str(run), str(tmp_path / "exported")],
        "runs": [str(run)],
    }[name]
    program = (
        f"import sys\nfrom experiments.cli import main\nassert main({[name, *arguments]}) == 0\n"
        f"assert not {set(HEAVY)} & set(sys.modules), {set(HEAVY)} & set(sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
