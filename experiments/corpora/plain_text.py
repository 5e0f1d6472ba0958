"""Files without columns: what a document of them is."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from experiments.corpora.open_files import Source, decoded

_CHARACTERS = 2**16
_CONLLU_FIELDS = 10
_CONLLU_NUMBER = re.compile(r"\d+(?:[-.]\d+)?")


def lines(source: Source, encoding: str) -> Iterator[str]:
    """The lines that are not blank, without their ends."""
    with decoded(source, encoding) as text:
        for line in text:
            if not line.isspace():
                yield line.removesuffix("\n")


def paragraphs(source: Source, encoding: str) -> Iterator[str]:
    """Runs of lines that are not blank, without the last line end."""
    with decoded(source, encoding) as text:
        held: list[str] = []
        for line in text:
            if not line.isspace():
                held.append(line)
            elif held:
                yield "".join(held).removesuffix("\n")
                held = []
        if held:
            yield "".join(held).removesuffix("\n")


def whole(source: Source, encoding: str) -> Iterator[str]:
    """The file as one document; none when it is blank."""
    with decoded(source, encoding) as text:
        document = text.read()
        if document and not document.isspace():
            yield document


READERS = {"line": lines, "paragraph": paragraphs, "document": whole}
"""By what a document of a text file is."""


def pieces(source: Source, encoding: str, length: int) -> Iterator[str]:
    """The file cut as by `cut`."""
    with decoded(source, encoding) as text:
        yield from cut(iter(lambda: text.read(_CHARACTERS), ""), length)


def cut(parts: Iterable[str], length: int) -> Iterator[str]:
    """A text, given in parts of any size, cut into documents of at most `length` characters.

    They end after a line or a word where there is one in their second half; together they are the text, but for those
    that are blank, which are left out.
    """
    held = ""
    for part in parts:
        held, start = held + part, 0
        while len(held) - start > length:
            end = _end(held, start, length)
            if not held[start:end].isspace():
                yield held[start:end]
            start = end
        held = held[start:]
    if held and not held.isspace():
        yield held


def _end(text: str, start: int, length: int) -> int:
    """Where the document that begins at `start` ends."""
    half, limit = start + length // 2, start + length
    for mark in ("\n", " "):
        found = text.rfind(mark, half, limit)
        if found > start:
            return found + 1
    return limit


def conllu_sentences(source: Source, encoding: str) -> Iterator[str]:
    """The sentences of a CoNLL-U file: their comment "# text = …" or, where there is none, their words.

    Words are joined by a space unless SpaceAfter=No; of a multiword token, its own form is taken.

    Raises:
        ValueError: when a line is neither blank, nor a comment, nor ten fields with the number of a word first.
    """
    with decoded(source, encoding) as text:
        sentence, words, covered = "", "", 0
        for number, line in enumerate(text, 1):
            line = line.removesuffix("\n")
            if not line or line.isspace():
                if found := (sentence or words).strip():
                    yield found
                sentence, words, covered = "", "", 0
            elif line.startswith("#"):
                key, _, value = line[1:].partition("=")
                sentence = value.strip() if key.strip() == "text" else sentence
            else:
                fields = conllu_fields(line, f"{source.name} line {number}")
                first, _, last = fields[0].partition("-")
                if "." not in first and int(first) > covered:
                    covered = int(last or first)
                    words += fields[1] + ("" if "SpaceAfter=No" in fields[9].split("|") else " ")
        if found := (sentence or words).strip():
            yield found


def conllu_fields(line: str, place: str) -> list[str]:
    """The fields of a word of CoNLL-U. Raises ValueError when the line is none."""
    fields = line.split("\t")
    if len(fields) != _CONLLU_FIELDS or not _CONLLU_NUMBER.fullmatch(fields[0]):
        raise ValueError(
            f"{place} is no word of CoNLL-U, which has ten fields between tabs, a number first, but {line[:60]!r}; "
            f"correct it, or name another format"
        )
    return fields
