"""`clm-vs-mlm export`: a trained model as a Hugging Face folder, tokenizer included."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Sequence
from pathlib import Path

from tokenizers import Tokenizer as Backend
from tokenizers.processors import TemplateProcessing

from experiments.inference.open_model import open_trained
from experiments.text.tokenizer import Tokenizer
from objectives.inference.huggingface_export import write_huggingface


def export_model(path: str, target: Path, imports: Sequence[str] = ()) -> None:
    """Write the model of a run or checkpoint into a folder, whole or not at all.

    Raises:
        ValueError: when there is no such model, it has diverged, or no class of transformers has the same encoder and
            head.
    """
    checkpoint, objective, tokenizer = open_trained(path, imports)
    if not all(bool(value.isfinite().all()) for value in objective.state_dict().values()):
        raise ValueError(f"{checkpoint} has weights that are not finite: its training has diverged")
    target.parent.mkdir(parents=True, exist_ok=True)
    unfinished = target.with_name(f".{target.name}.tmp")
    shutil.rmtree(unfinished, ignore_errors=True)  # left by an export that was killed
    try:
        write_huggingface(objective, unfinished)
        causal = objective.traits.attention == "causal"
        write_tokenizer(tokenizer, objective.encoder.config.max_length, causal, unfinished)
        os.replace(unfinished, target)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)


def write_tokenizer(tokenizer: Tokenizer, max_length: int, causal: bool, directory: Path) -> None:
    """The files of a `PreTrainedTokenizerFast` that puts [CLS] and [SEP] around a text, as in training.

    For a causal model it puts [CLS] in front and nothing behind: after [SEP], the end of a document, a model writes a
    new one instead of going on with the text. Unlike ours it reads special tokens in text as such, as users expect.
    """
    backend = Backend.from_str(tokenizer.backend.to_str())
    names = {role: backend.id_to_token(number) for role, number in tokenizer.roles.items()}
    cls, sep = names["cls"], names["sep"]
    backend.post_processor = TemplateProcessing(
        single=f"{cls} $A" if causal else f"{cls} $A {sep}",
        # For a causal model a second text is a second document, as in training.
        pair=f"{cls} $A {sep} {cls}:1 $B:1" if causal else f"{cls} $A {sep} $B:1 {sep}:1",
        special_tokens=[(cls, tokenizer.roles["cls"]), (sep, tokenizer.roles["sep"])],
    )
    config = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "pad_token": names["pad"],
        "unk_token": names["unknown"],
        "cls_token": cls,
        "sep_token": sep,
        "mask_token": names["mask"],
        "bos_token": cls,
        "eos_token": sep,
        "model_max_length": max_length,
        "clean_up_tokenization_spaces": False,
    }
    backend.save(str(directory / "tokenizer.json"))
    (directory / "tokenizer_config.json").write_text(json.dumps(config, indent=2, ensure_ascii=False) + "\n", "utf-8")
