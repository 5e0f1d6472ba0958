"""Trained encoders as stock Hugging Face models, and back: ModernBERT for masked models, its decoder for causal ones.

The geometry is the same, so logits are equal; only the names differ, and the decoder keeps query, key and value apart.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from objectives.base import Objective
from objectives.encoder.config import EncoderConfig
from objectives.encoder.model import Encoder

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
}
"""What ModernBERT leaves open and this encoder does not."""


def to_huggingface(objective: Objective) -> Any:
    """A `ModernBertForMaskedLM` or, of a causal objective, a `ModernBertDecoderForCausalLM`, in eval mode."""
    import transformers as hf

    classes = {
        "causal": (hf.ModernBertDecoderConfig, hf.ModernBertDecoderForCausalLM),
        "bidirectional": (hf.ModernBertConfig, hf.ModernBertForMaskedLM),
    }
    make_config, make_model = classes[objective.reading]
    encoder, vocabulary = objective.encoder, objective.vocabulary
    rope = {"rope_type": "default", "rope_theta": encoder.config.rope_theta}
    config = make_config(
        vocab_size=vocabulary.size,
        **{theirs: getattr(encoder.config, ours) for ours, theirs in SIZES.items()},
        **FIXED,
        layer_types=["full_attention"] * encoder.config.depth,
        rope_parameters={"full_attention": rope, "sliding_attention": rope},
        pad_token_id=vocabulary.pad,
        bos_token_id=vocabulary.cls,
        eos_token_id=vocabulary.sep,
        cls_token_id=vocabulary.cls,
        sep_token_id=vocabulary.sep,
    )
    model = make_model(config)
    ours = encoder.state_dict()
    state: dict[str, Tensor] = {}
    for name, theirs in _names(encoder.config.depth, causal=objective.reading == "causal"):
        state.update(zip(theirs, ours[name].chunk(len(theirs)), strict=True))
    state["decoder.weight"] = ours["embedding.weight"]
    model.load_state_dict(state)
    return model.eval()


def to_encoder(model: Any) -> Encoder:
    """The encoder with the weights of a `ModernBertForMaskedLM` or `ModernBertDecoderForCausalLM`.

    Raises:
        ValueError: when the model is of another kind, or uses what this encoder does not have.
    """
    config, kinds = model.config, {"modernbert": False, "modernbert-decoder": True}
    if config.model_type not in kinds:
        raise ValueError(f"only ModernBERT and its decoder have this encoder's geometry, not {config.model_type}")
    other = [f"{name}={getattr(config, name)}" for name, value in FIXED.items() if getattr(config, name) != value]
    if set(config.layer_types) != {"full_attention"}:
        other.append("sliding attention")
    if other:
        raise ValueError(f"this encoder has no {', '.join(other)}")
    sizes = {ours: getattr(config, theirs) for ours, theirs in SIZES.items()}
    sizes["intermediate"] = sizes.pop("inner")
    theta = config.rope_parameters["full_attention"]["rope_theta"]
    encoder = Encoder(EncoderConfig(**sizes, rope_theta=theta), config.vocab_size, seed=0)
    theirs = model.state_dict()
    names = _names(config.num_hidden_layers, causal=kinds[config.model_type])
    encoder.load_state_dict({name: torch.cat([theirs[part] for part in parts]) for name, parts in names})
    return encoder.eval()


def _names(depth: int, causal: bool) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Each parameter of the encoder, with those of the Hugging Face model that it consists of."""
    head = "lm_head" if causal else "head"
    yield "embedding.weight", ("model.embeddings.tok_embeddings.weight",)
    yield "embedding_norm.weight", ("model.embeddings.norm.weight",)
    for index in range(depth):
        ours, theirs = f"layers.{index}.", f"model.layers.{index}."
        if index:
            yield f"{ours}attention_norm.weight", (f"{theirs}attn_norm.weight",)
        projections = ("q_proj", "k_proj", "v_proj") if causal else ("Wqkv",)
        yield f"{ours}attention_input.weight", tuple(f"{theirs}attn.{name}.weight" for name in projections)
        yield f"{ours}attention_output.weight", (f"{theirs}attn.Wo.weight",)
        yield f"{ours}feedforward_norm.weight", (f"{theirs}mlp_norm.weight",)
        yield f"{ours}feedforward_input.weight", (f"{theirs}mlp.Wi.weight",)
        yield f"{ours}feedforward_output.weight", (f"{theirs}mlp.Wo.weight",)
    yield "final_norm.weight", ("model.final_norm.weight",)
    yield "head_dense.weight", (f"{head}.dense.weight",)
    yield "head_norm.weight", (f"{head}.norm.weight",)
    yield "decoder_bias", ("decoder.bias",)
