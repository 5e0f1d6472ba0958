"""What data hands to an evaluation besides blocks: labelled tasks in token ids, and sentences."""

from __future__ import annotations

from dataclasses import dataclass

from experiments.corpora.base import Example, LabelledTask
from experiments.text.tokenizer import Tokenizer


@dataclass(frozen=True)
class TextSentences:
    """Sentences as text, and what it takes to read them."""

    texts: list[str]
    tokenizer: Tokenizer


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
