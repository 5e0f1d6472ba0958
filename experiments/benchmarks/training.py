"""Speed of training against the stock loop of Hugging Face's transformers: one process, the same weights and blocks.

    python -m experiments.benchmarks.training [--tokens 100000] [--repeats 3] [--threads 2] [--precision 32-true]

Ours trains through Lightning's Trainer, with all that a run does at each step but its files; the other is the plain
loop of transformers (forward, backward, clip, AdamW) over the ModernBERT classes that `clm-vs-mlm export` writes. MLM
is timed against both of its ways: all logits (the default), and its `sparse_prediction`. All read joined documents,
as the stock loop does. The ways take turns and the best repeat of each counts. The ceiling is the best of a matrix
product of 1024³ in the same process; shares of it are those of the operations by formula.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import pytorch_lightning as pl
import torch
from torch.utils.data import DataLoader

from experiments.training.command_line import quiet_lightning
from experiments.training.run_spec import TRAINER_DEFAULTS
from objectives import CLM, MLM, Batch, Budget, Corruption, EncoderConfig, Objective, OptimizerConfig, Vocabulary
from objectives.lightning_module import TrainingModule
from tests.support.exported import exported

SIZES = ((256, 4, 4096), (128, 4, 8192), (256, 6, 30_000), (96, 3, 2048))
"""Width, depth and vocabulary of each model."""
LENGTH, BLOCKS = 128, 32
"""Tokens of a block, and blocks of a batch."""
OBJECTIVES: dict[str, Callable[..., Objective]] = {"CLM": CLM, "MLM": partial(MLM, Corruption())}
WAYS = {"CLM": ("HF",), "MLM": ("HF", "HF sparse")}


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tokens", type=int, default=100_000, help="that each way reads in each repeat")
    parser.add_argument("--repeats", type=int, default=3, help="of which the best counts")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--precision", default="32-true", help="of ours, as the Trainer calls it")
    options = parser.parse_args(arguments)
    torch.set_num_threads(options.threads)
    quiet_lightning()
    steps = max(1, options.tokens // (LENGTH * BLOCKS))
    print(f"{options.threads} threads, blocks of {LENGTH} tokens, {BLOCKS} a batch, {options.precision}")
    print(f"{'model':20}{'objective':11}{'tokens/s':>10}{'/ HF':>7}{'/ HF sparse':>13}{'of the ceiling':>16}")
    for width, depth, vocabulary in SIZES:
        for name in WAYS:
            row = compare(name, width, depth, vocabulary, steps, options.repeats, options.precision)
            print(f"d{width} L{depth} V{vocabulary:<10}{name:11}{row}", flush=True)


def compare(name: str, width: int, depth: int, size: int, steps: int, repeats: int, precision: str) -> str:
    """Time one objective in all ways; its row of the table."""
    objective = partial(make_objective, name, width, depth, size)
    batches = list(random_batches(objective().vocabulary, steps))
    ways: dict[str, Callable[[], float]] = {"ours": lambda: seconds_of_ours(objective(), batches, precision)}
    for way in WAYS[name]:
        ways[way] = partial(seconds_of_transformers, objective, batches, sparse=way == "HF sparse")
    best = dict.fromkeys(ways, float("inf"))
    peak = 0.0
    for time_it in ways.values():
        time_it()  # a first time, so that no way pays for what is made once
    for _ in range(repeats):
        peak = max(peak, matmul_ceiling())
        for way, time_it in ways.items():
            best[way] = min(best[way], time_it())
    tokens = steps * LENGTH * BLOCKS
    rate = objective().flops_per_token(LENGTH) * tokens / best["ours"]
    ratios = [f"{best[way] / best['ours']:.2f}" if way in best else "" for way in ("HF", "HF sparse")]
    return f"{tokens / best['ours']:>10,.0f}{ratios[0]:>7}{ratios[1]:>13}{rate / peak:>16.2f}"


def make_objective(name: str, width: int, depth: int, size: int) -> Objective:
    """An objective over an encoder of some size, with random weights."""
    shared = {
        "encoder": EncoderConfig(width=width, depth=depth, heads=max(1, width // 32), max_length=LENGTH),
        "vocabulary": Vocabulary(size=size, pad=0, unknown=1, cls=2, sep=3, mask=4, specials=(0, 1, 2, 3, 4)),
        "budget": Budget(tokens=2**40),
        "optimizer": OptimizerConfig(),
        "documents": "joined",
    }
    return OBJECTIVES[name](**shared)


def random_batches(vocabulary: Vocabulary, steps: int) -> Iterator[Batch]:
    """Blocks of random regular tokens."""
    generator = torch.Generator().manual_seed(0)
    for step in range(steps):
        tokens_BT = torch.randint(5, vocabulary.size, (BLOCKS, LENGTH), generator=generator)
        tokens_BT[:, 0] = vocabulary.cls
        index_B = torch.arange(step * BLOCKS, (step + 1) * BLOCKS)
        yield Batch(tokens_BT, torch.zeros_like(index_B), index_B)


class _Timer(pl.Callback):
    """From before the first step to after the last."""

    def on_train_start(self, *_: Any) -> None:
        self.start = time.perf_counter()

    def on_train_end(self, *_: Any) -> None:
        self.seconds = time.perf_counter() - self.start


def seconds_of_ours(objective: Objective, batches: list[Batch], precision: str) -> float:
    """Seconds that the Trainer takes for the steps."""
    timer = _Timer()
    settings: dict[str, Any] = {**TRAINER_DEFAULTS, "max_epochs": 1, "precision": precision, "accelerator": "cpu"}
    trainer = pl.Trainer(**settings, callbacks=[timer])
    trainer.fit(TrainingModule(objective), DataLoader(batches, batch_size=None))  # type: ignore[arg-type]  # a list is one
    return timer.seconds


def seconds_of_transformers(make: Callable[[], Objective], batches: list[Batch], sparse: bool) -> float:
    """Seconds that the stock loop takes for the same steps, its labels made beforehand."""
    objective = make()
    model = exported(objective).train()
    model.config.sparse_prediction = model.sparse_prediction = sparse
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    causal = objective.traits.attention == "causal"
    prepared = []
    for batch in batches:
        (view,) = objective.views(batch.tokens_BT, batch.key(0))
        prepared.append((view.inputs_BT, batch.tokens_BT if causal else view.targets_BT))
    start = time.perf_counter()
    for inputs_BT, labels_BT in prepared:
        loss = model(input_ids=inputs_BT, labels=labels_BT).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
    return time.perf_counter() - start


def matmul_ceiling(size: int = 1024, tries: int = 20) -> float:
    """Operations a second of the fastest of some matrix products."""
    left, right = torch.randn(size, size), torch.randn(size, size)
    best = float("inf")
    for _ in range(tries):
        start = time.perf_counter()
        left @ right
        best = min(best, time.perf_counter() - start)
    return 2 * size**3 / best


if __name__ == "__main__":
    main()
