"""A trained model by path: a run, a checkpoint of one, or a folder that Hugging Face's transformers wrote."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

import torch

from experiments.records import durable, run_directory
from experiments.text.codec import MASK_TEXT, TextCodec
from experiments.text.tokenizer import Tokenizer
from experiments.training.checkpoint_files import complete, verify
from objectives import Objective, load_objective
from objectives.inference.language_model import LanguageModel, ObjectiveLanguageModel

TOKENIZER = "tokenizer.json"
HUB = "hf:"


@dataclass(frozen=True)
class Model:
    """A model that can be asked about text."""

    path: Path
    language_model: LanguageModel
    codec: TextCodec
    mask_names: tuple[str, ...] = (MASK_TEXT,)
    """How a blank may be written in text."""


def open_model(path: str) -> Model:
    """The model of a run (its last snapshot), of a checkpoint, of a Hugging Face folder or, as hf:NAME, of their hub.

    It is on a GPU where there is one.

    Raises:
        ValueError: when there is none, it is damaged, or its tokens stand for no text.
    """
    if path.startswith(HUB) or (Path(path) / "config.json").is_file():
        from experiments.inference.open_huggingface import open_stock

        language_model, codec, names = open_stock(path.removeprefix(HUB), _device())
        return Model(Path(path.removeprefix(HUB)), language_model, codec, names)
    checkpoint, objective, tokenizer = open_trained(path)
    return Model(checkpoint, ObjectiveLanguageModel(objective.to(_device())), tokenizer)


def open_trained(path: str) -> tuple[Path, Objective, Tokenizer]:
    """The checkpoint that a path means, its objective and the tokenizer of its run. Raises as `open_model` does."""
    checkpoint = _find_checkpoint(path)
    verify(checkpoint)
    objective = load_objective(checkpoint)
    run = checkpoint.parent.parent
    if not (run / TOKENIZER).exists():
        raise ValueError(
            f"no {TOKENIZER} in {run}: a checkpoint is used where its run wrote it, and a run on generated data has "
            f"tokens that stand for no text"
        )
    tokenizer = Tokenizer.load(run / TOKENIZER)
    proof = durable.read_mapping(run / run_directory.PAIRING) if (run / run_directory.PAIRING).exists() else {}
    if tokenizer.size != objective.vocabulary.size or proof.get("tokenizer", tokenizer.fingerprint) != (
        tokenizer.fingerprint
    ):
        raise ValueError(f"{run / TOKENIZER} is not the tokenizer that the model in {checkpoint} was trained with")
    return checkpoint, objective, tokenizer


def _find_checkpoint(name: str) -> Path:
    path = Path(name)
    if path.is_file():
        return path.resolve()
    if not name or not path.is_dir():
        raise ValueError(f"there is no run, checkpoint or Hugging Face folder at {name!r}")
    if (path / "config.json").exists():
        raise ValueError(f"{path} is a Hugging Face folder; name a run, or a checkpoint of one")
    if not (path / run_directory.RUN).exists():
        found = sorted(str(cell.parent) for depth in ("*", "*/*") for cell in path.glob(f"{depth}/{run_directory.RUN}"))
        hint = f"; it holds runs, name one of them, such as {found[0]}" if found else ""
        raise ValueError(f"{path} is neither a run nor a Hugging Face folder{hint}")
    snapshots = complete(path / "snapshots")
    if (path / run_directory.DONE).exists():
        tokens = run_directory.run_state(path).tokens
        if not snapshots or not snapshots[-1].stem.endswith(f"-{tokens:012d}"):
            raise ValueError(
                f"the run {path} is not whole: its last snapshot is missing; copy it again, or name a snapshot"
            )
    if not snapshots:
        raise ValueError(f"the run {path} has no snapshot yet; train it first (clm-vs-mlm fit)")
    print(f"using {snapshots[-1]}", file=sys.stderr)
    return snapshots[-1]


def _device() -> str:
    return "cuda" if torch.cuda.is_available() else "cpu"
