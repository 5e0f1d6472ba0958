"""Export of trained objectives to Hugging Face classes: ModernBERT for masked models, its decoder for causal ones.

The architecture is the same, so logits are equal; only names differ, and the decoder splits query, key and value.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from torch import Tensor

from objectives.base import Objective

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
"""Settings that ModernBERT leaves open and this encoder fixes."""


def to_huggingface(objective: Objective) -> Any:
    """A model of the class of transformers that the objective names as its counterpart, in eval mode.

    Raises:
        ValueError: when the objective has none.
    """
    import transformers as hf

    traits = objective.traits
    if traits.huggingface is None:
        raise ValueError(f"{traits.name} has no counterpart in transformers, and so cannot be exported")
    make_model = getattr(hf, traits.huggingface)
    make_config, decoder = make_model.config_class, make_model is hf.ModernBertDecoderForCausalLM
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
    for name, theirs in parameter_names(encoder.config.depth, decoder):
        state.update(zip(theirs, ours[name].chunk(len(theirs)), strict=True))
    state["decoder.weight"] = ours["embedding.weight"]
    model.load_state_dict(state)
    return model.eval()


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
