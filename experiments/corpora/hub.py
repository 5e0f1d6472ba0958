"""Any data set that `datasets.load_dataset` can load."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import Any

from experiments.corpora import columns, plain_text
from experiments.corpora.base import SplitByHash, check_split, digest_of
from experiments.corpora.open_files import Source, local_source
from experiments.records.durable import file_digest

# Settings of a data set's configuration that are known to be read right here; with any other, `datasets` reads it.
_OF_THE_FILES = {"name", "version", "data_dir", "data_files", "description", "features", "chunksize", "batch_size"}
_HONOURED = {
    "Csv": {"sep", "delimiter", "names", "column_names", "header", "quoting", "encoding"},
    "Json": {"encoding"},
    "Parquet": set(),
    "Text": {"encoding", "sample_by"},
}
_UNPACKED_BY_DATASETS = (".zip", ".tar", ".tgz", ".bz2", ".xz", ".lz4", ".7z", ".rar")
_PATTERN = "*?[]{}:%#"


class HubText(SplitByHash):
    """A text column of a data set on the Hugging Face hub, or of a local folder with the same layout.

    Its csv, jsonl, parquet and text files are read as those of `LocalText`, one by one and the one column alone. Data
    sets of other kinds are read by `datasets`.

    Args:
        name: name on the hub such as "Salesforce/wikitext", or a local folder.
        config: configuration of the data set such as "wikitext-103-raw-v1".
        column: the column that holds the text.
        split: the split to train on.
        validation_split: the split to validate on; a share of the documents of `split` when not given.
        validation: that share.
        revision: branch, tag or commit on the hub.
        streaming: read over the network without downloading the data set first; local folders are always streamed.
        language: "zh" makes the character tokenizer the default.
    """

    def __init__(
        self,
        name: str,
        config: str | None = None,
        column: str = "text",
        split: str = "train",
        validation_split: str | None = None,
        validation: float = 0.05,
        revision: str | None = None,
        streaming: bool = False,
        language: str | None = None,
    ) -> None:
        super().__init__(validation, probe=0.0)
        if validation_split == split:
            raise ValueError(
                f'validation_split "{split}" is the split that is trained on; name another, or leave it out to '
                "validate on a share of the documents"
            )
        self.name = name
        self.config = config
        self.column = column
        self.split = split
        self.validation_split = validation_split
        self.revision = revision
        # The cache of `datasets` can serve an older version of a local file.
        self.streaming = streaming or Path(name).is_dir()
        self.language = language
        self.default_tokenizer = "character" if language == "zh" else "bpe"

    def texts(self) -> Iterator[str]:
        return self._read(self.split)

    def documents(self, split: str) -> Iterator[str]:
        check_split(split)
        if self.validation_split is None:
            return super().documents(split)
        if split == "probe":
            return iter(())
        return self._read(self.validation_split if split == "validation" else self.split)

    def fingerprint(self) -> str:
        validation = self.validation_split or self.validation
        return digest_of("HubText", 2, self._version(), self.config, self.column, self.split, validation)

    def _version(self) -> object:
        """Contents of a local folder; name and commit of a data set on the hub."""
        folder = Path(self.name)
        if folder.is_dir():
            files = sorted(file for file in folder.rglob("*") if file.is_file())
            return [(file.relative_to(folder).as_posix(), file_digest(file)) for file in files]
        return self.name, self._builder(self.name).hash

    def _builder(self, path: str) -> Any:
        from datasets import load_dataset_builder

        return self._load(load_dataset_builder, path)

    def _read(self, split: str) -> Iterator[str]:
        for name, cells in self._cells(split, self.column, labels=False):
            yield from columns.filled(cells, name, self._empty)

    def cells(self, split: str, column: str, labels: bool = False) -> Iterator[Any]:
        """Every cell of a column, of text or of labels."""
        return (cell for _, cells in self._cells(split, column, labels) for cell in cells)

    def _cells(self, split: str, column: str, labels: bool) -> Iterator[tuple[str, Iterator[Any]]]:
        """What a split consists of, by name: its files or, where `datasets` reads them, all at once."""
        with _plainly_named(self.name) as path:
            builder = self._builder(path)
            if not _reads_as_here(builder):
                # In a csv file, `datasets` would take the words null, NA, None and nan for missing.
                options = {"keep_default_na": False} if _kind(builder) == "Csv" else {}
                yield f"split {split}", self._cells_of_datasets(path, split, column, labels, **options)
                return
            files = {str(name): list(found) for name, found in builder.config.data_files.items()}
        if split not in files:
            raise ValueError(f'{self.name} has no split "{split}"; its splits are {", ".join(files)}')
        for file in files[split]:
            if Path(self.name).is_dir():
                source = local_source(Path(self.name) / Path(file).relative_to(Path(path).resolve()))
            else:
                source = self._remote_source(file)
            yield source.name, self._cells_of_file(builder, source, column, labels)

    def _cells_of_file(self, builder: Any, source: Source, column: str, labels: bool) -> Iterator[Any]:
        config, kind = builder.config, _kind(builder)
        encoding = getattr(config, "encoding", None) or "utf-8"
        if kind == "Parquet":
            return columns.parquet(source, column, labels)
        if kind == "Json":
            return columns.json_lines(source, encoding, column, labels)
        if kind == "Text":
            if column != "text":
                raise ValueError(f'{source.name} has no column "{column}"; its one column is text')
            return plain_text.READERS[config.sample_by](source, encoding)
        place: str | int = column
        if config.names:
            if column not in config.names:
                raise ValueError(f'{self.name} has no column "{column}"; its columns are {", ".join(config.names)}')
            place = config.names.index(column) + 1
        return columns.separated(source, encoding, place, config.sep, not config.names, config.quoting == 0)

    def _remote_source(self, url: str) -> Source:
        import fsspec
        from datasets import DownloadManager

        if self.streaming:
            return Source(url, fsspec.open(url, "rb").open)
        return Source(url, lambda: open(DownloadManager().download(url), "rb"))

    def _cells_of_datasets(self, path: str, split: str, column: str, labels: bool, **options: Any) -> Iterator[Any]:
        """Of a data set that only `datasets` can read."""
        import pyarrow
        from datasets import load_dataset

        dataset = self._load(load_dataset, path, split=split, streaming=self.streaming, **options)
        source = f'split "{split}" of {self.name}'
        try:
            # Whole Arrow tables: ten times faster than rows as dictionaries.
            for table in dataset.with_format("arrow").iter(batch_size=columns.ROWS_AT_ONCE):
                yield from columns.of_table(table, column, source, labels)
        except (pyarrow.ArrowException, OSError, RuntimeError, UnicodeDecodeError) as error:
            raise ValueError(f"cannot read {source}: {error.__cause__ or error}") from error

    def _load(self, loader: Any, path: str, **options: Any) -> Any:
        try:
            return loader(path, self.config, revision=self.revision, **options)
        except (OSError, ValueError, RuntimeError) as error:
            reason = str(error).replace(path, self.name)
            raise ValueError(f"cannot load the data set {self.name} (config {self.config}): {reason}") from error


@contextmanager
def _plainly_named(name: str) -> Iterator[str]:
    """A path of a local folder that `datasets` takes for no pattern or chain of file systems; other names as given.

    Where its own is one, the folder is made again in a temporary place, with links for its files: `datasets` follows
    the link of a folder back to its name.
    """
    folder = Path(name)
    if not (folder.is_dir() and any(character in str(folder.absolute()) for character in _PATTERN)):
        yield name
        return
    with tempfile.TemporaryDirectory(prefix="corpus") as copy:
        for file in folder.rglob("*"):
            if file.is_file():
                link = Path(copy) / file.relative_to(folder)
                link.parent.mkdir(parents=True, exist_ok=True)
                link.symlink_to(file.absolute())
        yield copy


def _kind(builder: Any) -> str | None:
    """Which of the kinds of file in _HONOURED a data set consists of, as `datasets` has found; None for others."""
    packaged = (cls for cls in type(builder).__mro__ if cls.__module__.startswith("datasets.packaged_modules."))
    return next((cls.__name__ for cls in packaged if cls.__name__ in _HONOURED), None)


def _reads_as_here(builder: Any) -> bool:
    """True when the readers of this package can read the files of a data set as its configuration says."""
    kind = _kind(builder)
    if kind is None:
        return False
    config, standard = builder.config, type(builder.config)()
    changed = {field.name for field in fields(config) if getattr(config, field.name) != getattr(standard, field.name)}
    if not changed <= _OF_THE_FILES | _HONOURED[kind] or not config.data_files:
        return False
    if kind == "Csv":
        headers = ("infer", None) if config.names else ("infer", 0)
        if len(config.sep) != 1 or config.quoting not in (0, 3) or config.header not in headers:
            return False
    names = [str(file).lower() for found in config.data_files.values() for file in found]
    return not any(name.endswith(_UNPACKED_BY_DATASETS) or "::" in Path(name).name for name in names)
