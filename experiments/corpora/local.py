"""Your own text files."""

from __future__ import annotations

import glob
from collections.abc import Iterator
from pathlib import Path

from experiments.corpora.base import SplitByHash, digest_of
from experiments.corpora.rows import texts_of
from experiments.records.durable import file_digest

FORMATS = {".txt": "text", ".jsonl": "json", ".csv": "csv", ".parquet": "parquet"}


class LocalText(SplitByHash):
    """One or many txt, jsonl, csv or parquet files, streamed through `datasets`; blank documents are skipped.

    Args:
        path: a file or a pattern such as "texts/*.txt", or a list of them; all of one format.
        column: where jsonl, csv and parquet files keep the text.
        sample_by: what a document of a txt file is: a "line", a "paragraph" (up to a blank line) or the whole
            "document" (file).
        validation: share of the documents in the validation split.
        language: "zh" makes the character tokenizer the default, and a character the word that word swap moves.
    """

    def __init__(
        self,
        path: str | list[str],
        column: str = "text",
        sample_by: str = "line",
        validation: float = 0.05,
        language: str | None = None,
    ) -> None:
        super().__init__(validation, probe=0.0)
        if sample_by not in ("line", "paragraph", "document"):
            raise ValueError(f'sample_by="{sample_by}" must be line, paragraph or document')
        self.files = _expand([path] if isinstance(path, str) else path)
        suffixes = {file.suffix.lower() for file in self.files}
        if len(suffixes) > 1 or not suffixes <= FORMATS.keys():
            raise ValueError(
                f"cannot read {', '.join(sorted(suffixes))} files: give files of one format, "
                f"one of {', '.join(FORMATS)}"
            )
        self.format = FORMATS[suffixes.pop()]
        self.column = "text" if self.format == "text" else column
        self.sample_by = sample_by
        self.language = language
        self.default_tokenizer = "character" if language == "zh" else "bpe"

    def texts(self) -> Iterator[str]:
        from datasets import load_dataset

        options = {"sample_by": self.sample_by} if self.format == "text" else {}
        # Escaped, because `datasets` would take a name such as a[1].txt for a pattern.
        files = [glob.escape(str(file)) for file in self.files if file.stat().st_size]
        if not files:
            return iter(())
        # Streaming reads the files themselves; the cache of `datasets` can serve an older version of a file.
        dataset = load_dataset(self.format, data_files=files, split="train", streaming=True, **options)
        return texts_of(dataset, self.column, ", ".join(files[:3]) + (", …" if len(files) > 3 else ""))

    def fingerprint(self) -> str:
        contents = [file_digest(file) for file in self.files]
        return digest_of("LocalText", 1, contents, self.format, self.column, self.sample_by, self.validation)


def _expand(patterns: list[str]) -> list[Path]:
    files: list[Path] = []
    for pattern in patterns:
        found = [Path(pattern)] if Path(pattern).is_file() else sorted(map(Path, glob.glob(pattern, recursive=True)))
        found = [file for file in found if file.is_file()]
        if not found:
            raise ValueError(f"there is no file {pattern} (looked in {Path.cwd()}); correct the corpus's path")
        files += found
    if not files:
        raise ValueError("the corpus names no file; give its path")
    return list(dict.fromkeys(files))
