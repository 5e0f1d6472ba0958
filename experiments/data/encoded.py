"""Questions about text, in token ids: what an evaluation puts to a model."""

from __future__ import annotations

from dataclasses import dataclass

from experiments.corpora.base import Example, LabelledTask
from experiments.text.tokenizer import Tokenizer

Pair = tuple[list[int], list[int]]
"""A real sentence and its scrambled version, without special tokens."""


@dataclass(frozen=True)
class EncodedText:
    """Ids of a text without special tokens, and its label: one for a sequence, one per id for tokens."""

    ids: list[int]
    label: str | tuple[str, ...]


@dataclass(frozen=True)
class EncodedTask:
    """A probe task in token ids."""

    name: str
    level: str
    train: list[EncodedText]
    test: list[EncodedText]


def encode_task(probe: LabelledTask, tokenizer: Tokenizer, longest: int) -> EncodedTask:
    """Tokenize a probe task. Texts are cut after `longest` tokens; a token's label is that of its first character."""

    def encode(example: Example) -> EncodedText:
        ids, spans, _ = tokenizer.encode(example.text)
        if isinstance(example.label, str):
            return EncodedText(ids[:longest], example.label)
        return EncodedText(ids[:longest], tuple(example.label[start] for start, _ in spans[:longest]))

    train, test = ([encode(example) for example in part] for part in (probe.train, probe.test))
    return EncodedTask(probe.name, probe.level, [text for text in train if text.ids], [t for t in test if t.ids])
