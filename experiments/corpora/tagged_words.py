"""Sentences of words with a tag each, from files in the formats of the CoNLL shared tasks, and as running text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from experiments.corpora.open_files import Source, decoded
from experiments.corpora.plain_text import conllu_fields
from experiments.corpora.words import CHINESE

CONLLU = ("ID", "FORM", "LEMMA", "UPOS", "XPOS", "FEATS", "HEAD", "DEPREL", "DEPS", "MISC")
_UNSPACED = re.compile(rf"[{CHINESE}\u3000-\u30ff\uff00-\uffef]")
"""Chinese and Japanese characters and marks, beside which words are not parted by a blank."""


class TaggedWords(NamedTuple):
    """A sentence."""

    place: str
    """Its file and first line."""
    words: list[str]
    tags: list[str]
    glued: list[bool]
    """Whether the word is followed by no blank."""


def conll(source: Source, encoding: str, word: int, tag: int | None) -> Iterator[TaggedWords]:
    """Of a file with a word a line, fields between tabs (where there are any) or blanks, and a blank line after each
    sentence; lines that begin with -DOCSTART- are skipped.

    Args:
        word: number of the field of the word, from 1.
        tag: number of that of the tag; the last one when None.

    Raises:
        ValueError: when a line has too few fields, naming it.
    """
    fewest = max(word, tag or 2)
    for first, lines in _sentences(source, encoding):
        words, tags = [], []
        for number, line in enumerate(lines, start=first):
            fields = line.split("\t") if "\t" in line else [field for field in line.split(" ") if field]
            if fields[0] == "-DOCSTART-":
                continue
            if len(fields) < fewest:
                raise ValueError(
                    f"{source.name} line {number} has {len(fields)} of at least {fewest} fields: {line[:60]!r}; "
                    f"correct it, or name other numbers as text and label"
                )
            words.append(fields[word - 1])
            tags.append(fields[(tag or len(fields)) - 1])
        if words:
            yield TaggedWords(f"{source.name} line {first}", words, tags, [False] * len(words))


def conllu(source: Source, encoding: str, field: str) -> Iterator[TaggedWords]:
    """Of a CoNLL-U file: the syntactic words, of a multiword token those that it stands for, with one of their fields.

    Raises:
        ValueError: when there is no such field, or a line is no word.
    """
    if field not in CONLLU:
        raise ValueError(f'CoNLL-U has no field "{field}"; its fields are {", ".join(CONLLU)}')
    for first, lines in _sentences(source, encoding):
        found = TaggedWords(f"{source.name} line {first}", [], [], [])
        for number, line in enumerate(lines, start=first):
            if line.startswith("#"):
                continue
            fields = conllu_fields(line, f"{source.name} line {number}")
            if fields[0].isdecimal():  # neither a range of words nor an empty node
                found.words.append(fields[1])
                found.tags.append(fields[CONLLU.index(field)])
                found.glued.append("SpaceAfter=No" in fields[-1].split("|"))
        if found.words:
            yield found


def running_text(words: Sequence[str], glued: Sequence[bool] | None = None) -> tuple[str, list[tuple[int, int]]]:
    """Words as text, with the span of each: a blank between two, unless they are glued or a Chinese or Japanese
    character or mark is beside it."""
    parts: list[str] = []
    spans, length = [], 0
    for number, word in enumerate(words):
        before = words[number - 1] if number else ""
        if number and not (glued and glued[number - 1]) and not _UNSPACED.search(before[-1:] + word[:1]):
            parts.append(" ")
            length += 1
        parts.append(word)
        spans.append((length, length + len(word)))
        length += len(word)
    return "".join(parts), spans


def _sentences(source: Source, encoding: str) -> Iterator[tuple[int, list[str]]]:
    """Runs of lines that are not blank, without their ends, and the number of the first."""
    with decoded(source, encoding) as text:
        held: list[str] = []
        number = 0
        for number, line in enumerate(text, start=1):
            if not line.isspace():
                held.append(line.removesuffix("\n"))
            elif held:
                yield number - len(held), held
                held = []
        if held:
            yield number + 1 - len(held), held
