"""Labelled texts of a task: from your own files, a data set of the Hugging Face hub, or a corpus of a package."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

from experiments.corpora import columns
from experiments.corpora.base import Corpus, Example
from experiments.corpora.hub import HubText
from experiments.corpora.local import FORMATS, expand, format_of
from experiments.corpora.open_files import local_source
from experiments.corpora.tagged_words import conll, conllu, running_text
from experiments.corpora.words import words_of
from objectives.construction.class_paths import import_object

Kind = Literal["sequence", "pair", "tags"]
Span = tuple[int, int]
TABLES = ("jsonl", "csv", "tsv", "parquet")
TAGGED = {".conll": "conll", ".bio": "conll", ".iob": "conll", ".iob2": "conll"}
LEVELS = {"sequence": "sequence", "token": "tags"}
"""Level of a corpus's labelled task -> kind."""


class LabelledText(NamedTuple):
    """A text, or a pair of texts, with its label or with one for each of its words."""

    texts: tuple[str, ...]
    label: str | tuple[str, ...]
    words: tuple[Span, ...] = ()
    """The characters of each word, where each has a label."""


@dataclass(frozen=True)
class LabelledSource:
    """Where the labelled texts of a task are, and how they are read.

    Raises:
        ValueError: when a setting has another value than those below, or no meaning beside the others.
    """

    kind: Kind
    text: str | int | None = None
    second_text: str | int | None = None
    label: str | int | None = None
    path: str | None = None
    name: str | None = None
    format: str | None = None
    header: bool = True

    def __post_init__(self) -> None:
        if self.kind not in get_args(Kind):
            raise ValueError(f'kind="{self.kind}" must be one of {", ".join(get_args(Kind))}')
        if (self.kind == "pair") != (self.second_text is not None):
            raise ValueError("second_text is named for the kind pair, and for no other")
        if self.path is None and self.name is not None:
            raise ValueError(
                "name is that of a configuration or task of what path names; give the path too, or neither"
            )
        if self.path is not None and (self.format is not None or not self.header):
            raise ValueError("format and header have no meaning beside path: they are those of files of your own")
        if self.format not in (None, *TABLES, "conll", "conllu"):
            raise ValueError(f'format="{self.format}" must be one of {", ".join((*TABLES, "conll", "conllu"))}')

    def read(self, part: str) -> list[LabelledText]:
        """The labelled texts of a part: of files, one or a pattern; or of a split of what `path` names.

        Raises:
            ValueError: when something of it cannot be read, a label is missing, or a text has another number of words
                than of labels; the message names the place.
        """
        if self.path is None:
            return list(self._of_files(part))
        if _is_class_path(self.path):
            return list(self._of_corpus(self.path, part))
        data = HubText(self.path, self.name)
        name = f'split "{part}" of {self.path}'
        return list(self._of_columns(name, (data.cells(part, str(c), labels) for c, labels in self._columns())))

    def _of_files(self, pattern: str) -> Iterator[LabelledText]:
        files = expand([pattern])
        by_suffix = {**FORMATS, **TAGGED, ".txt": "conll"} if self.kind == "tags" else FORMATS
        format = self.format or format_of(files, by_suffix)
        for file in files:
            source = local_source(file)
            if format in TABLES:
                cells = (
                    columns.column_of(source, format, column, header=self.header, labels=labels)
                    for column, labels in self._columns()
                )
                yield from self._of_columns(source.name, cells)
            elif format not in ("conll", "conllu") or self.kind != "tags":
                raise ValueError(
                    f"{file} is read as {format}, which has no labels of the kind {self.kind}; give a table"
                )
            else:
                label = self.label
                sentences = (
                    conllu(source, "utf-8", str(label or "UPOS"))
                    if format == "conllu"
                    else conll(source, "utf-8", int(self.text or 1), None if label is None else int(label))
                )
                for sentence in sentences:
                    text, spans = running_text(sentence.words, sentence.glued)
                    yield LabelledText((text,), tuple(sentence.tags), tuple(spans))

    def _columns(self) -> list[tuple[str | int, bool]]:
        """The columns to read, and whether each holds labels; lists of words are read as those are."""
        texts = [self.text or "text", *([] if self.second_text is None else [self.second_text])]
        return [*((column, self.kind == "tags") for column in texts), (self.label or "label", True)]

    def _of_columns(self, name: str, cells: Iterable[Iterator[Any]]) -> Iterator[LabelledText]:
        for row, (*texts, label) in enumerate(zip(*cells, strict=True), start=1):
            place = f"row {row} of {name}"
            if label is None or label == "":
                raise ValueError(f"{place} has no label; leave it out")
            if self.kind == "tags":
                yield _tagged(place, *(_listed(cell) for cell in (*texts, label)))
            elif isinstance(label, list):
                raise ValueError(f"{place} has a list as label, but one label of the whole text is wanted; see kind")
            else:
                yield LabelledText(tuple(text or "" for text in texts), label)

    def _of_corpus(self, path: str, part: str) -> Iterator[LabelledText]:
        cls = import_object(path)
        if not (isinstance(cls, type) and issubclass(cls, Corpus)):
            raise ValueError(f"{path} is not a Corpus, a data set of the hub or a folder; correct path")
        tasks = {task.name: task for task in cls().labelled_tasks()}
        task = tasks.get(self.name or "")
        if task is None or part not in ("train", "test"):
            raise ValueError(
                f"{path} has the labelled tasks {', '.join(tasks)}, with the parts train and test; name one of them"
            )
        if LEVELS[task.level] != self.kind:
            raise ValueError(f'the task {self.name} of {path} is of the kind "{LEVELS[task.level]}"; name that')
        yield from map(_labelled, task.train if part == "train" else task.test)


def _labelled(example: Example) -> LabelledText:
    """The label of a word is that of its first character."""
    if isinstance(example.label, str):
        return LabelledText((example.text,), example.label)
    spans = words_of(example.text)
    return LabelledText((example.text,), tuple(example.label[start] for start, _ in spans), tuple(spans))


def _tagged(place: str, words: list[str], tags: list[str]) -> LabelledText:
    if len(words) != len(tags):
        raise ValueError(f"{place} has {len(words)} words but {len(tags)} labels; correct it: each word needs one")
    text, spans = running_text(words)
    return LabelledText((text,), tuple(tags), tuple(spans))


def _listed(cell: str | list[str] | None) -> list[str]:
    """A list as it is; a string is parted at white space."""
    return cell if isinstance(cell, list) else (cell or "").split()


def _is_class_path(path: str) -> bool:
    return "." in path and "/" not in path and not Path(path).exists()
