"""`clm-vs-mlm export`: a trained model as a Hugging Face folder, tokenizer included."""

from __future__ import annotations

import argparse
import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from experiments.text.tokenizer import Tokenizer


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = (
        "A masked model becomes a ModernBERT that AutoModelForMaskedLM opens, a causal one a ModernBERT decoder for "
        "AutoModelForCausalLM, with equal logits. AutoTokenizer puts [CLS] and [SEP] around a text, as in training."
    )
    parser.add_argument("model", metavar="MODEL", help="a run, or a checkpoint of one")
    parser.add_argument("directory", metavar="DIR", help="folder to write; must not exist yet, or be empty")


def main(options: argparse.Namespace) -> int:
    """Exit code 0. Raises ValueError on bad input, with nothing written."""
    try:
        import transformers
    except ImportError:
        raise ValueError('an export needs transformers: pip install -e ".[hf]"') from None
    from experiments.inference.open_model import open_trained
    from objectives.inference.huggingface_export import to_huggingface

    target = Path(options.directory).resolve()
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise ValueError(f"{target} exists already; name a folder that does not")
    checkpoint, objective, tokenizer = open_trained(options.model)
    if not all(bool(value.isfinite().all()) for value in objective.state_dict().values()):
        raise ValueError(f"{checkpoint} has weights that are not finite: its training has diverged")
    model = to_huggingface(objective)
    transformers.utils.logging.disable_progress_bar()
    target.parent.mkdir(parents=True, exist_ok=True)
    unfinished = target.with_name(f".{target.name}.tmp")
    shutil.rmtree(unfinished, ignore_errors=True)  # what a kill left
    try:
        model.save_pretrained(unfinished)
        pretrained_tokenizer(tokenizer, objective.encoder.config.max_length).save_pretrained(unfinished)
        os.replace(unfinished, target)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
    print(options.directory)
    return 0


def pretrained_tokenizer(tokenizer: Tokenizer, max_length: int) -> Any:
    """The tokenizer as transformers has it: it puts [CLS] and [SEP] around a text, as in training.

    Unlike ours it reads special tokens in text as such, as its users expect.
    """
    from tokenizers import Tokenizer as Backend
    from tokenizers.processors import TemplateProcessing
    from transformers import PreTrainedTokenizerFast

    backend = Backend.from_str(tokenizer.backend.to_str())
    names = {role: backend.id_to_token(number) for role, number in tokenizer.roles.items()}
    cls, sep = names["cls"], names["sep"]
    backend.post_processor = TemplateProcessing(
        single=f"{cls} $A {sep}",
        pair=f"{cls} $A {sep} $B:1 {sep}:1",
        special_tokens=[(cls, tokenizer.roles["cls"]), (sep, tokenizer.roles["sep"])],
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=backend,
        pad_token=names["pad"],
        unk_token=names["unknown"],
        cls_token=cls,
        sep_token=sep,
        mask_token=names["mask"],
        bos_token=cls,
        eos_token=sep,
        model_max_length=max_length,
        clean_up_tokenization_spaces=False,
    )
