"""Tokenizers that others may have made, small enough to see through."""

from __future__ import annotations

import json
from typing import Any

from tokenizers import Tokenizer as Backend
from tokenizers import decoders, models, normalizers, pre_tokenizers, trainers

SPECIALS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
TEXTS = [
    "the old cat sees the young bird near the river.",
    "a tree likes the house.",
    "the small dog hears the bird under the tree.",
] * 3


def bpe(byte_level: bool = True, dropout: float | None = None, hole: int = 0, **model: Any) -> Backend:
    """A BPE trained on TEXTS; one by characters has no unknown token and knows the characters of TEXTS only.

    Args:
        byte_level: by bytes, all 256 of them; by characters of words between white space otherwise.
        dropout: of the BPE.
        hole: how many ids are left out before the last thirty tokens.
        model: settings of the BPE.
    """
    trained = Backend(models.BPE())
    alphabet: list[str] = []
    if byte_level:
        alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
        trained.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    else:
        trained.pre_tokenizer = pre_tokenizers.Whitespace()
    trainer = trainers.BpeTrainer(
        vocab_size=300 if byte_level else 60, special_tokens=SPECIALS, initial_alphabet=alphabet, show_progress=False
    )
    trained.train_from_iterator(TEXTS, trainer)
    last = trained.get_vocab_size() - 30
    vocabulary = {token: number + hole * (number >= last) for token, number in trained.get_vocab().items()}
    merges = [tuple(pair) for pair in json.loads(trained.to_str())["model"]["merges"]]
    backend = Backend(models.BPE(vocabulary, merges, dropout=dropout, **model))
    backend.pre_tokenizer = trained.pre_tokenizer
    if byte_level:
        backend.decoder = decoders.ByteLevel()
    backend.add_special_tokens(SPECIALS)
    return backend


def characters(
    alphabet: str, normalizer: normalizers.Normalizer | None = None, pre_tokenizer: Any = None, **model: Any
) -> Backend:
    """A token for each character of an alphabet; no unknown token but where `model` names one."""
    vocabulary = {token: number for number, token in enumerate([*SPECIALS, *alphabet])}
    backend = Backend(models.BPE(vocabulary, [], **model))
    if normalizer is not None:
        backend.normalizer = normalizer
    if pre_tokenizer is not None:
        backend.pre_tokenizer = pre_tokenizer
    backend.decoder = decoders.Fuse()
    backend.add_special_tokens(SPECIALS)
    return backend
