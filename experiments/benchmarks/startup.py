"""How long each command takes from process start, on a small model and a shipped grid.

    python -m experiments.benchmarks.startup [--repeats 3]

A model of two layers is trained for a few steps first. Each command then runs as a process of its own, with warm files,
and the shortest of its repeats is printed beside the time in which it is meant to answer.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

PROGRAM = (sys.executable, "-m", "experiments.cli")
SETTINGS = {
    "model": {
        "class_path": "objectives.MLM",
        "init_args": {"encoder": {"width": 32, "depth": 2, "heads": 2}, "budget": {"tokens": 4096}},
    },
    "data": {
        "class_path": "experiments.data.TextData",
        "init_args": {
            "corpus": {"class_path": "experiments.corpora.KingJames"},
            "tokenizer": {"kind": "bpe", "size": 1024},
            "block_length": 64,
        },
    },
    "evaluation": {"snapshots": 1, "metrics": ["experiments.evaluation.ValidationLoss"]},
}
HELP, ANSWER, FIT_HELP, PLAN = 1.0, 2.0, 3.0, 5.0
"""Seconds in which commands are meant to answer."""


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=3, help="runs of which the best counts")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        print(f"{'command':32}{'seconds':>9}{'meant':>8}")
        for words, meant in commands(Path(folder)).items():
            taken = min(seconds_of(words) for _ in range(options.repeats))
            print(f"{' '.join(words).replace(folder, '...')[:30]:32}{taken:>9.2f}{meant:>8.0f}", flush=True)


def commands(folder: Path) -> dict[tuple[str, ...], float]:
    """Each command to time, and the seconds in which it is meant to answer."""
    causal = json.loads(json.dumps(SETTINGS))
    causal["model"]["class_path"] = "objectives.CLM"
    masked, left_to_right = train(SETTINGS, folder, "masked"), train(causal, folder, "causal")
    (folder / "lines.txt").write_text("In the beginning was the Word\n", encoding="utf-8")
    pair = {"sentence_good": "He hath seen it.", "sentence_bad": "He hast seen it."}
    (folder / "pairs.jsonl").write_text(json.dumps(pair) + "\n", encoding="utf-8")
    lines, pairs = str(folder / "lines.txt"), str(folder / "pairs.jsonl")
    answers: list[tuple[str, ...]] = [
        ("score", masked, lines),
        ("pairs", masked, pairs),
        ("fill", masked, "In the [MASK] was the Word"),
        ("generate", left_to_right, "--prompt", "In the beginning", "--length", "8"),
        ("export", masked, str(folder / "exported")),
        ("runs", str(folder)),
    ]
    helps = [(name, "--help") for name, *_ in answers]
    return {
        ("--help",): HELP,
        **dict.fromkeys(helps, HELP),
        **dict.fromkeys(answers, ANSWER),
        ("fit", "--help"): FIT_HELP,
        ("fit", "--config", "mlm", "--help"): FIT_HELP,
        ("sweep", "quickstart", "--dry-run"): PLAN,
    }


def train(settings: dict[str, object], folder: Path, name: str) -> str:
    """The directory of a run."""
    arguments = ["fit", "--config", json.dumps(settings), "--results", str(folder), "--name", name]
    done = subprocess.run(
        [*PROGRAM, *arguments], check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    return done.stdout.strip()


def seconds_of(words: Sequence[str]) -> float:
    """Wall time of a command. Raises SystemExit when it fails."""
    start = time.perf_counter()
    done = subprocess.run([*PROGRAM, *words], capture_output=True, text=True)
    seconds = time.perf_counter() - start
    if done.returncode:
        raise SystemExit(f"{' '.join(words)} ended with {done.returncode}: {done.stderr}")
    if words[0] == "export" and len(words) == 3:
        shutil.rmtree(words[2])
    return seconds


if __name__ == "__main__":
    main()
