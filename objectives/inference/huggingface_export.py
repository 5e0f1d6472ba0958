"""Export of trained objectives to Hugging Face classes: ModernBERT for masked models, its decoder for causal ones.

The architecture is the same, so logits are equal; only names differ, and the decoder splits query, key and value. The
files are written without transformers, whose import takes longer than all the rest.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from safetensors.torch import save_file

from objectives.base import Objective

MODEL_TYPES = {"ModernBertForMaskedLM": "modernbert", "ModernBertDecoderForCausalLM": "modernbert-decoder"}
"""The classes of transformers that have this encoder and head."""
SIZES = {
    "width": "hidden_size",
    "depth": "num_hidden_layers",
    "heads": "num_attention_heads",
    "inner": "intermediate_size",
    "max_length": "max_position_embeddings",
    "norm_eps": "norm_eps",
}
FIXED = {
    "hidden_activation": "gelu",
    "classifier_activation": "gelu",
    "norm_bias": False,
    "attention_bias": False,
    "mlp_bias": False,
    "classifier_bias": False,
    "decoder_bias": True,
    "tie_word_embeddings": True,
    "dtype": "float32",
}
"""Settings that ModernBERT leaves open and this encoder fixes."""


def write_huggingface(objective: Objective, directory: Path) -> None:
    """Write config.json and model.safetensors, which `from_pretrained` of the objective's counterpart opens.

    Raises:
        ValueError: when the objective has no counterpart in transformers.
    """
    config, decoder = huggingface_config(objective), objective.traits.attention == "causal"
    ours = {name: value.detach().cpu() for name, value in objective.encoder.state_dict().items()}
    weights = {
        part: value.contiguous()
        for name, parts in parameter_names(objective.encoder.config.depth, decoder)
        for part, value in zip(parts, ours[name].chunk(len(parts)), strict=True)
    }
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "config.json").write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")
    save_file(weights, directory / "model.safetensors", metadata={"format": "pt"})


def huggingface_config(objective: Objective) -> dict[str, Any]:
    """The content of config.json.

    Raises:
        ValueError: when the objective has no counterpart in transformers.
    """
    name, encoder, vocabulary = objective.traits.huggingface, objective.encoder, objective.vocabulary
    if name not in MODEL_TYPES:
        raise ValueError(f"{objective.traits.name} has no counterpart in transformers, and so cannot be exported")
    rope = {"rope_type": "default", "rope_theta": encoder.config.rope_theta}
    return {
        "architectures": [name],
        "model_type": MODEL_TYPES[name],
        "vocab_size": vocabulary.size,
        **{theirs: getattr(encoder.config, ours) for ours, theirs in SIZES.items()},
        **FIXED,
        "layer_types": ["full_attention"] * encoder.config.depth,
        "rope_parameters": {"full_attention": rope, "sliding_attention": rope},
        "pad_token_id": vocabulary.pad,
        "bos_token_id": vocabulary.cls,
        "eos_token_id": vocabulary.sep,
        "cls_token_id": vocabulary.cls,
        "sep_token_id": vocabulary.sep,
    }


def parameter_names(depth: int, decoder: bool) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Each parameter of the encoder, and the parameters of the Hugging Face model that it is split into."""
    head = "lm_head" if decoder else "head"
    yield "embedding.weight", ("model.embeddings.tok_embeddings.weight",)
    yield "embedding_norm.weight", ("model.embeddings.norm.weight",)
    for index in range(depth):
        ours, theirs = f"layers.{index}.", f"model.layers.{index}."
        if index:
            yield f"{ours}attention_norm.weight", (f"{theirs}attn_norm.weight",)
        projections = ("q_proj", "k_proj", "v_proj") if decoder else ("Wqkv",)
        yield f"{ours}attention_input.weight", tuple(f"{theirs}attn.{name}.weight" for name in projections)
        yield f"{ours}attention_output.weight", (f"{theirs}attn.Wo.weight",)
        yield f"{ours}feedforward_norm.weight", (f"{theirs}mlp_norm.weight",)
        yield f"{ours}feedforward_input.weight", (f"{theirs}mlp.Wi.weight",)
        yield f"{ours}feedforward_output.weight", (f"{theirs}mlp.Wo.weight",)
    yield "final_norm.weight", ("model.final_norm.weight",)
    yield "head_dense.weight", (f"{head}.dense.weight",)
    yield "head_norm.weight", (f"{head}.norm.weight",)
    yield "decoder_bias", ("decoder.bias",)
