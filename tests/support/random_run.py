"""A run's directory as a training leaves it, with random weights in its snapshot: made in a moment."""

from __future__ import annotations

from pathlib import Path

import torch

from experiments.records import durable, run_directory
from experiments.text.tokenizer import Tokenizer
from experiments.training.checkpoint_files import DurableCheckpointIO
from objectives import Budget, Corruption, EncoderConfig, Objective, OptimizerConfig
from objectives.construction.identity import constructor_types, describe_objective

ENGLISH = ["the old cat sees the young bird near the river. ", "a tree likes the house. ", "[MASK] and [SEP] (1)"] * 20
CHINESE = ["我今天去北京", "今天天气很好。", "他昨天在上海"] * 20


def make_run(directory: Path, cls: type[Objective], kind: str = "bpe", seed: int = 0, scale: float = 8) -> Path:
    """A run of a tiny objective with a tokenizer of some kind; the character kind knows Chinese, and no space."""
    texts = CHINESE if kind == "character" else ENGLISH
    tokenizer = Tokenizer.train(kind, {"bpe": 300, "wordpiece": 512, "character": 40}[kind], texts)
    arguments = {
        "encoder": EncoderConfig(width=16, depth=2, heads=2, max_length=48),
        "vocabulary": tokenizer.vocabulary(),
        "budget": Budget(tokens=1000),
        "optimizer": OptimizerConfig(),
        "seed": seed,
    }
    own = {name: Corruption() for name, declared in constructor_types(cls).items() if declared is Corruption}
    objective = cls(**arguments, **own)
    with torch.no_grad():
        for parameter in objective.parameters():
            if parameter.dim() == 2:
                parameter *= scale
    (directory / "snapshots").mkdir(parents=True)
    tokenizer.save(directory / "tokenizer.json")
    durable.write_json(directory / run_directory.RUN, {"name": directory.name})
    snapshot = {"objective": describe_objective(objective), "state_dict": objective.state_dict()}
    DurableCheckpointIO().save_checkpoint(snapshot, directory / "snapshots" / "tokens-000000001000.ckpt")
    return directory
