"""What data hands to an evaluation besides blocks: labelled tasks in token ids, sentences, and what was trained on."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from experiments.corpora.base import Corpus, Example, LabelledTask
from experiments.text.tokenizer import Tokenizer


@dataclass(frozen=True)
class TextSentences:
    """Sentences as text, and what it takes to read them."""

    texts: list[str]
    tokenizer: Tokenizer


@dataclass(frozen=True)
class PretrainingText:
    """The text that blocks were made of, and the tokenizer that made them."""

    corpus: Corpus
    tokenizer: Tokenizer

    @cached_property
    def hashes_N(self) -> NDArray[np.uint64]:
        """Those of the training documents, each once, in ascending order; they are read once."""
        return np.unique(hashes(self.corpus.documents("train")))


def hashes(texts: Iterable[str]) -> NDArray[np.uint64]:
    """A hash of each text, white space at its ends left out."""
    digests = (hashlib.blake2b(one.strip().encode("utf-8", "surrogatepass"), digest_size=8).digest() for one in texts)
    return np.fromiter((int.from_bytes(digest, "big") for digest in digests), np.uint64)


@dataclass(frozen=True)
class EncodedText:
    """Ids of a text without special tokens, and its label: one for a sequence, one per id for tokens."""

    ids: list[int]
    label: str | tuple[str, ...]


@dataclass(frozen=True)
class EncodedTask:
    """A labelled task in token ids."""

    name: str
    level: str
    train: list[EncodedText]
    test: list[EncodedText]


def encode_task(task: LabelledTask, tokenizer: Tokenizer, longest: int) -> EncodedTask:
    """Encode a labelled task. Texts are cut after `longest` tokens; a token's label is that of its first character."""

    def encode(example: Example) -> EncodedText:
        ids, spans, _ = tokenizer.encode(example.text)
        if isinstance(example.label, str):
            return EncodedText(ids[:longest], example.label)
        return EncodedText(ids[:longest], tuple(example.label[start] for start, _ in spans[:longest]))

    train, test = ([encode(example) for example in part] for part in (task.train, task.test))
    return EncodedTask(task.name, task.level, [text for text in train if text.ids], [t for t in test if t.ids])
