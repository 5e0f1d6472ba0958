"""Your own text files."""

from __future__ import annotations

import glob
from collections.abc import Iterator, Mapping
from pathlib import Path

from experiments.corpora import columns, plain_text
from experiments.corpora.base import SplitByHash, digest_of
from experiments.corpora.open_files import Source, check_encoding, local_source, suffix_of
from experiments.records.durable import file_digest

FORMATS = {
    ".txt": "text",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
    ".csv": "csv",
    ".tsv": "tsv",
    ".parquet": "parquet",
    ".conllu": "conllu",
}


class LocalText(SplitByHash):
    """One or many files, each read by itself and in order, streamed; blank documents are left out.

    Files that end in .gz or .zst are decompressed while they are read. A byte-order mark is no part of the text.

    Args:
        path: a file or a pattern such as "texts/*.txt", or a list of them; all of one format.
        column: where jsonl, csv, tsv and parquet files keep the text; without a header, its number from 1.
        sample_by: what a document of a text file is: a "line", a "paragraph" (up to a blank line) or the whole
            "document" (file); or "length": text files, or the rows of others, are cut into documents of equal length.
        validation: share of the documents in the validation split.
        language: "zh" makes the character tokenizer the default.
        format: text, jsonl, csv, tsv (tabs, and quotes are text), parquet or conllu (a document is a sentence); by the
            files' suffix when not given.
        encoding: of all formats but parquet.
        separator: between the fields of csv files, which may be quoted; a comma when not given.
        header: whether the first row of csv and tsv files names the columns.
        length: with sample_by "length", the most characters of a document; it ends after a line or a word.
    """

    def __init__(
        self,
        path: str | list[str],
        column: str | int = "text",
        sample_by: str = "line",
        validation: float = 0.05,
        language: str | None = None,
        format: str | None = None,
        encoding: str = "utf-8",
        separator: str | None = None,
        header: bool = True,
        length: int = 2000,
    ) -> None:
        super().__init__(validation, probe=0.0)
        if sample_by not in (*plain_text.READERS, "length"):
            raise ValueError(f'sample_by="{sample_by}" must be {", ".join(plain_text.READERS)} or length')
        if length < 1:
            raise ValueError(f"length={length} must be positive")
        check_encoding(encoding)
        self.files = expand([path] if isinstance(path, str) else path)
        self.format = format_of(self.files) if format is None else format
        if self.format not in FORMATS.values():
            raise ValueError(f'format="{self.format}" must be one of {", ".join(dict.fromkeys(FORMATS.values()))}')
        separator = "\t" if separator == r"\t" else separator
        self._refuse_what_has_no_meaning(column, sample_by, separator, header)
        if separator is not None and (len(separator) != 1 or separator in '\r\n"'):
            raise ValueError(f"separator={separator!r} must be one character, and neither a quote nor a line end")
        self.column = column
        self.sample_by = sample_by
        self.encoding = encoding
        self.separator = separator
        self.header = header
        self.length = length
        self.language = language
        self.default_tokenizer = "character" if language == "zh" else "bpe"

    def texts(self) -> Iterator[str]:
        for path in self.files:
            yield from self._read(local_source(path))

    def fingerprint(self) -> str:
        contents = [file_digest(file) for file in self.files]
        reading = (self.format, str(self.column), self.encoding, self.separator, self.header)
        sampling = (self.sample_by, self.length if self.sample_by == "length" else None)
        return digest_of("LocalText", 2, contents, reading, sampling, self.validation)

    def _read(self, source: Source) -> Iterator[str]:
        if self.format == "text":
            if self.sample_by == "length":
                return plain_text.pieces(source, self.encoding, self.length)
            return plain_text.READERS[self.sample_by](source, self.encoding)
        rows = columns.filled(self._cells(source), source.name, self._empty)
        if self.sample_by == "length":
            return (document for row in rows for document in plain_text.cut([row], self.length))
        return rows

    def _cells(self, source: Source) -> Iterator[columns.Cell]:
        if self.format == "conllu":
            return plain_text.conllu_sentences(source, self.encoding)
        return columns.column_of(source, self.format, self.column, self.encoding, self.separator, self.header)

    def _refuse_what_has_no_meaning(
        self, column: str | int, sample_by: str, separator: str | None, header: bool
    ) -> None:
        given = {
            "column": (column != "text", ("jsonl", "csv", "tsv", "parquet")),
            "sample_by": (sample_by not in ("line", "length"), ("text",)),
            "separator": (separator is not None, ("csv",)),
            "header": (not header, ("csv", "tsv")),
        }
        for name, (is_given, formats) in given.items():
            if is_given and self.format not in formats:
                raise ValueError(
                    f"{name} has no meaning for files of format {self.format}, as which {self.files[0]} is read; leave "
                    f"it out, or name the format ({', '.join(formats)})"
                )


def format_of(files: list[Path], by_suffix: Mapping[str, str] = FORMATS) -> str:
    """The format that files of some suffixes have. Raises ValueError where it is not known, or not one."""
    suffixes = {suffix_of(file.name) for file in files}
    formats = {by_suffix.get(suffix) for suffix in suffixes}
    if len(formats) == 1 and (found := formats.pop()) is not None:
        return found
    named = ", ".join(sorted(suffix or "those without a suffix" for suffix in suffixes))
    raise ValueError(
        f"cannot tell how to read these files: {named}; give files of one format, one of {', '.join(by_suffix)}, or "
        f"name their format ({', '.join(dict.fromkeys(by_suffix.values()))})"
    )


def expand(patterns: list[str]) -> list[Path]:
    """The files of some names and patterns, each once. Raises ValueError where there is none."""
    files: list[Path] = []
    for pattern in patterns:
        found = [Path(pattern)] if Path(pattern).is_file() else sorted(map(Path, glob.glob(pattern, recursive=True)))
        found = [file for file in found if file.is_file()]
        if not found:
            raise ValueError(f"there is no file {pattern} (looked in {Path.cwd()}); correct its path")
        files += found
    if not files:
        raise ValueError("the path names no file; give one")
    return list(dict.fromkeys(files))
