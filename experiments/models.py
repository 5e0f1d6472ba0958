"""A trained model by path: a run, a checkpoint of one, or a folder that Hugging Face's transformers wrote."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from experiments import store
from experiments.checkpoint import complete, verify
from experiments.spelling import Spelling
from experiments.tokenizer import Tokenizer
from objectives import Objective, load
from objectives.reader import ObjectiveReader, Reader

TOKENIZER = "tokenizer.json"
HUB = "hf:"


@dataclass(frozen=True)
class Model:
    """A model that can be asked about text."""

    path: Path
    reader: Reader
    spelling: Spelling
    mask_names: tuple[str, ...] = ("[MASK]",)
    """How a blank may be written in text."""


def open_model(path: str) -> Model:
    """The model of a run (its last snapshot), of a checkpoint, of a Hugging Face folder or, as hf:NAME, of their hub.

    It is on a GPU where there is one.

    Raises:
        ValueError: when there is none, it is damaged, or its tokens stand for no text.
    """
    if path.startswith(HUB) or (Path(path) / "config.json").is_file():
        return _open_pretrained(path.removeprefix(HUB))
    checkpoint, objective, tokenizer = open_trained(path)
    return Model(checkpoint, ObjectiveReader(objective.to(_device())), tokenizer.spelling)


def open_trained(path: str) -> tuple[Path, Objective, Tokenizer]:
    """The checkpoint that a path means, its objective and the tokenizer of its run. Raises as `open_model` does."""
    checkpoint = _find_checkpoint(Path(path))
    verify(checkpoint)
    objective = load(checkpoint)
    tokenizer_file = checkpoint.parent.parent / TOKENIZER
    if not tokenizer_file.exists():
        raise ValueError(
            f"no {TOKENIZER} in {checkpoint.parent.parent}: a checkpoint is used where its run wrote it, and a run on "
            f"generated data has tokens that stand for no text"
        )
    tokenizer = Tokenizer.load(tokenizer_file)
    if tokenizer.size != objective.vocabulary.size:
        raise ValueError(
            f"{tokenizer_file} has {tokenizer.size} tokens, but the model in {checkpoint} has "
            f"{objective.vocabulary.size}: they do not belong together"
        )
    return checkpoint, objective, tokenizer


def _find_checkpoint(path: Path) -> Path:
    if path.is_file():
        return path.resolve()
    if not path.is_dir():
        raise ValueError(f"there is no run, checkpoint or Hugging Face folder at {path}")
    if not (path / store.CELL).exists():
        runs = sorted(str(found.parent) for found in path.glob(f"**/{store.CELL}"))
        hint = f"; it holds runs, name one of them, such as {runs[0]}" if runs else ""
        raise ValueError(f"{path} is neither a run nor a Hugging Face folder{hint}")
    snapshots = complete(path / "snapshots")
    if not snapshots:
        raise ValueError(f"the run {path} has no snapshot yet; train it first (clm-vs-mlm fit)")
    print(f"using {snapshots[-1]}", file=sys.stderr)
    return snapshots[-1]


def _device() -> str:
    return "cuda" if torch.cuda.is_available() else "cpu"


def _open_pretrained(path: str) -> Model:
    """Of a folder, or by a name of the hub."""
    try:
        import transformers
    except ImportError:
        raise ValueError('reading Hugging Face models needs transformers: pip install -e ".[hf]"') from None
    from objectives.pretrained import PretrainedReader

    transformers.utils.logging.disable_progress_bar()
    try:
        config = transformers.AutoConfig.from_pretrained(path)
        tokenizer: Any = transformers.AutoTokenizer.from_pretrained(path)
    except (OSError, ValueError, KeyError) as error:
        raise ValueError(f"cannot read the model in {path}: {error}") from error
    causal = _is_causal(path, config)
    auto: Any = transformers.AutoModelForCausalLM if causal else transformers.AutoModelForMaskedLM
    try:
        model, report = auto.from_pretrained(path, output_loading_info=True)
    except (OSError, ValueError, RuntimeError) as error:
        raise ValueError(f"cannot read the model in {path}: {error}") from error
    if report["missing_keys"]:
        raise ValueError(
            f"the weights in {path} are not complete: {', '.join(sorted(report['missing_keys'])[:3])}, ..."
        )
    if not tokenizer.is_fast:
        raise ValueError(f"the tokenizer in {path} has no tokenizer.json; save a fast one there")
    spelling = Spelling(tokenizer.backend_tokenizer, tokenizer.all_special_ids, tokenizer.unk_token_id)
    names = dict.fromkeys(name for name in ("[MASK]", tokenizer.mask_token) if name)
    return Model(
        Path(path), PretrainedReader(model.float().eval().to(_device()), tokenizer, causal), spelling, tuple(names)
    )


def _is_causal(path: str, config: Any) -> bool:
    """By the class that wrote the folder, since some kinds of model exist as both."""
    from transformers.models.auto import modeling_auto

    for name in config.architectures or []:
        causal = name in modeling_auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES.values()
        masked = name in modeling_auto.MODEL_FOR_MASKED_LM_MAPPING_NAMES.values() or name.endswith("ForPreTraining")
        if causal != masked:
            return causal
    raise ValueError(
        f"{path} holds {config.architectures or 'a model of unnamed class'}, which is neither a masked nor a causal "
        f"language model with its head"
    )
