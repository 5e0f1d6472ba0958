"""A trained model by path: a run, a checkpoint of one, or a folder that Hugging Face's transformers wrote."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from experiments.inference.open_huggingface import open_huggingface
from experiments.records import durable, run_directory
from experiments.records.checkpoints import complete, number_of, verify
from experiments.records.proof import DONE, read_done
from experiments.text.codec import MASK_TEXT, TextCodec
from experiments.text.tokenizer import Tokenizer
from objectives import Objective, allow_imports, load_objective
from objectives.inference.language_model import LanguageModel, ObjectiveLanguageModel

TOKENIZER = "tokenizer.json"
HUB = "hf:"


@dataclass(frozen=True)
class TextModel:
    """A trained model together with what turns text into its tokens."""

    path: Path
    language_model: LanguageModel
    codec: TextCodec
    mask_names: tuple[str, ...] = (MASK_TEXT,)
    """How a blank may be written in text."""


def open_model(path: str, imports: Sequence[str] = ()) -> TextModel:
    """The model of a run (its last snapshot), of a checkpoint, of a Hugging Face folder or, as hf:NAME, of their hub.

    It is on a GPU where there is one. A run may be named without its hash, as in `find_run`.

    Args:
        imports: packages that the class of a trained model may be of, besides ours.

    Raises:
        ValueError: when there is no such model, it is damaged, or its tokens do not stand for text.
    """
    device = "cuda" if torch.cuda.is_available() else "cpu"
    if path.startswith(HUB) or _is_huggingface_folder(Path(path)):
        language_model, codec, names = open_huggingface(path.removeprefix(HUB), device)
        return TextModel(Path(path.removeprefix(HUB)), language_model, codec, names)
    checkpoint, objective, tokenizer = open_trained(path, imports)
    return TextModel(checkpoint, ObjectiveLanguageModel(objective.to(device)), tokenizer)


def open_trained(path: str, imports: Sequence[str] = ()) -> tuple[Path, Objective, Tokenizer]:
    """The checkpoint that a path means, its objective and the tokenizer of its run. Raises as `open_model` does."""
    allow_imports(imports)
    checkpoint = _find_checkpoint(path)
    verify(checkpoint)
    objective = load_objective(checkpoint)
    run = checkpoint.parent.parent
    if not (run / TOKENIZER).exists():
        raise ValueError(
            f"there is no {TOKENIZER} in {run}: a checkpoint has to stay in the directory of its run, and the tokens "
            f"of a run on generated data do not stand for text"
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
    run = run_directory.find_run(path) if name else None
    if run is not None:
        return _last_snapshot(run)
    if not name or not path.is_dir():
        raise ValueError(f"there is no run, checkpoint or Hugging Face folder at {name!r}")
    if _is_huggingface_folder(path):
        raise ValueError(f"{path} is a Hugging Face folder; name a run, or a checkpoint of one")
    found = sorted(str(file.parent) for depth in ("*", "*/*") for file in path.glob(f"{depth}/{run_directory.RUN}"))
    hint = f"; it holds runs, name one of them, such as {found[0]}" if found else ""
    raise ValueError(f"{path} is neither a run nor a Hugging Face folder{hint}")


def _last_snapshot(run: Path) -> Path:
    snapshots = complete(run / "snapshots")
    if (run / DONE).exists() and (not snapshots or number_of(snapshots[-1]) != read_done(run).tokens):
        raise ValueError(
            f"the run {run} is incomplete: its last snapshot is missing; copy it again, or name another snapshot"
        )
    if not snapshots:
        raise ValueError(f"the run {run} has no snapshot yet; train it first (clm-vs-mlm fit)")
    print(f"using {snapshots[-1]}", file=sys.stderr)
    return snapshots[-1]


def _is_huggingface_folder(path: Path) -> bool:
    return (path / "config.json").is_file()
