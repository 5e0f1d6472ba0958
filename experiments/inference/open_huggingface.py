"""Models in Hugging Face folders, or of the Hugging Face hub by name.

Nothing is taken on trust that would give wrong numbers in silence: weights and tokenizer must be complete and belong
together, and a causal model must not see later tokens.
"""

from __future__ import annotations

import re
import sys
from typing import Any

import torch

from experiments.text.codec import MASK_TEXT, TextCodec
from objectives.inference.huggingface_model import HuggingFaceLanguageModel
from objectives.inference.language_model import LanguageModel, inference_mode


def open_huggingface(path: str, device: str) -> tuple[LanguageModel, TextCodec, tuple[str, ...]]:
    """The model, its codec, and how a blank may be written for it.

    Raises:
        ValueError: when the folder cannot be read, or holds no complete masked or causal language model with a fast
            tokenizer.
    """
    model, tokenizer, causal = _load(path)
    if not tokenizer.is_fast or len(tokenizer) <= len(tokenizer.all_special_ids):
        raise ValueError(f"there is no tokenizer.json in {path}; save a fast tokenizer there")
    unseen = (number for number in tokenizer.get_vocab().values() if number >= model.config.vocab_size)
    codec = TextCodec(tokenizer.backend_tokenizer, [*tokenizer.all_special_ids, *unseen], tokenizer.unk_token_id)
    for change in codec.changes:
        print(f"the tokenizer in {path}: {change}", file=sys.stderr)
    language_model = HuggingFaceLanguageModel(model.float().eval().to(device), tokenizer, causal)
    if language_model.max_tokens < 1:
        raise ValueError(f"the model in {path} takes {language_model.max_length} tokens only, special ones included")
    if causal and _sees_ahead(language_model):
        raise ValueError(f"the model in {path} sees later tokens: it was not configured to be causal (is_decoder)")
    return language_model, codec, tuple(dict.fromkeys(name for name in (MASK_TEXT, tokenizer.mask_token) if name))


def is_causal(config: Any) -> bool:
    """Whether a model is causal, by the class that wrote its folder: some kinds of model exist as both.

    Raises:
        ValueError: when that class is neither a masked nor a causal language model, or could be both.
    """
    from transformers.models.auto import modeling_auto

    for name in config.architectures or []:
        causal = name in modeling_auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES.values()
        masked = name in modeling_auto.MODEL_FOR_MASKED_LM_MAPPING_NAMES.values() or name.endswith("ForPreTraining")
        if causal != masked:
            return causal
    raise ValueError(
        f"{config.architectures or 'a model of unnamed class'} is neither a masked nor a causal language model with "
        f"its head"
    )


def _load(path: str) -> tuple[Any, Any, bool]:
    """The model and the tokenizer of transformers, and whether the model is causal."""
    try:
        import transformers
    except ImportError:
        raise ValueError('reading Hugging Face models needs transformers: pip install -e ".[hf]"') from None
    transformers.utils.logging.disable_progress_bar()
    transformers.utils.logging.set_verbosity_error()
    trust = {"trust_remote_code": False}
    try:
        config = transformers.AutoConfig.from_pretrained(path, **trust)
        tokenizer = transformers.AutoTokenizer.from_pretrained(path, **trust)
        causal = is_causal(config)
        auto: Any = transformers.AutoModelForCausalLM if causal else transformers.AutoModelForMaskedLM
        model, report = auto.from_pretrained(path, output_loading_info=True, ignore_mismatched_sizes=True, **trust)
    except Exception as error:  # whatever the files make transformers, tokenizers or safetensors raise
        raise ValueError(f"cannot read the model in {path}: {error}") from error
    _refuse_incomplete(path, report)
    return model, tokenizer, causal


def _refuse_incomplete(path: str, report: Any) -> None:
    """transformers draws missing or misshapen weights at random, and drops those of layers that it does not have."""
    wrong = {
        "are missing": sorted(report["missing_keys"]),
        "have another shape than config.json says": sorted(str(key) for key, *_ in report["mismatched_keys"]),
        "belong to no layer that config.json describes": sorted(
            key for key in report["unexpected_keys"] if re.search(r"\.\d+\.", key)
        ),
    }
    for what, keys in wrong.items():
        if keys:
            raise ValueError(f"of the weights in {path}, {len(keys)} {what}, such as {keys[0]}")


def _sees_ahead(language_model: LanguageModel) -> bool:
    """Whether a later token changes what the model predicts before it."""
    regular = language_model.regular_V.nonzero()[:, 0]
    rows_2T = regular[torch.tensor([[0, 1, 2], [0, 1, 3]], device=regular.device) % len(regular)]
    targeted_2T = torch.tensor([[True, True, False]] * 2, device=regular.device)
    with inference_mode(language_model.module):
        one, other = language_model.logits(rows_2T, targeted_2T).chunk(2)
    return not torch.allclose(one, other, atol=1e-4)
