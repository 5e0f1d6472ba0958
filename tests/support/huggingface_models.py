"""Small models of classes of Hugging Face's transformers with random weights, and tokenizers for them."""

from __future__ import annotations

from typing import Any

import torch
import transformers
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from transformers import PreTrainedTokenizerFast

TEXTS = [
    "the old cat sees the young bird near the river",
    "a tree likes the house",
    "unbelievable birds hear unbelievably old trees",
    "river",
    "the dog, the cat and the bird don't like it.",
]
MASKED = ("bert", "roberta", "modernbert")
CAUSAL = ("gpt2", "modernbert-decoder")


def build(kind: str, seed: int = 0) -> tuple[Any, PreTrainedTokenizerFast]:
    """A model of some kind and its tokenizer; weights are large enough for a token's surroundings to show."""
    tokenizer = wordpiece() if kind in ("bert", "modernbert") else byte_level(kind)
    sizes = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64}
    shared = {"vocab_size": len(tokenizer), "max_position_embeddings": 64, "pad_token_id": tokenizer.pad_token_id}
    modern = {**sizes, **shared, "bos_token_id": tokenizer.bos_token_id, "eos_token_id": tokenizer.eos_token_id}
    modern |= {"cls_token_id": tokenizer.cls_token_id, "sep_token_id": tokenizer.sep_token_id}
    torch.manual_seed(seed)
    if kind == "bert":
        model: Any = transformers.BertForMaskedLM(transformers.BertConfig(**sizes, **shared))
    elif kind == "roberta":
        model = transformers.RobertaForMaskedLM(transformers.RobertaConfig(**sizes, **shared))
    elif kind == "modernbert":
        model = transformers.ModernBertForMaskedLM(transformers.ModernBertConfig(**modern, local_attention=8))
    elif kind == "modernbert-decoder":
        config = transformers.ModernBertDecoderConfig(**modern, local_attention=8)
        model = transformers.ModernBertDecoderForCausalLM(config)
    else:
        config = transformers.GPT2Config(
            vocab_size=len(tokenizer), n_positions=64, n_embd=32, n_layer=2, n_head=2, bos_token_id=0, eos_token_id=0
        )
        model = transformers.GPT2LMHeadModel(config)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() == 2:
                parameter *= 5
    return model.eval(), tokenizer


def wordpiece() -> PreTrainedTokenizerFast:
    """As BERT's: lower case, punctuation apart, [CLS] and [SEP] around."""
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    specials = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    trainer = trainers.WordPieceTrainer(vocab_size=90, special_tokens=specials, show_progress=False)
    tokenizer.train_from_iterator(TEXTS, trainer)
    _surround(tokenizer, "[CLS]", "[SEP]")
    names = {"pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
    names |= {"mask_token": "[MASK]", "bos_token": "[CLS]", "eos_token": "[SEP]"}
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, **names)


def byte_level(kind: str) -> PreTrainedTokenizerFast:
    """As RoBERTa's, with <s> and </s> around, or as GPT-2's, with one special token and nothing around."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    specials = ["<|endoftext|>"] if kind == "gpt2" else ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    trainer = trainers.BpeTrainer(
        vocab_size=300,
        special_tokens=specials,
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    tokenizer.train_from_iterator(TEXTS, trainer)
    if kind == "gpt2":
        return PreTrainedTokenizerFast(
            tokenizer_object=tokenizer, bos_token="<|endoftext|>", eos_token="<|endoftext|>", unk_token="<|endoftext|>"
        )
    _surround(tokenizer, "<s>", "</s>")
    names = {"pad_token": "<pad>", "unk_token": "<unk>", "cls_token": "<s>", "sep_token": "</s>"}
    names |= {"mask_token": "<mask>", "bos_token": "<s>", "eos_token": "</s>"}
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, **names)


def _surround(tokenizer: Tokenizer, first: str, last: str) -> None:
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{first} $A {last}",
        pair=f"{first} $A {last} $B {last}",
        special_tokens=[(name, tokenizer.token_to_id(name)) for name in (first, last)],
    )
