"""Any data set that `datasets.load_dataset` can load."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from experiments.corpora.base import SplitByHash, check_split, digest_of
from experiments.corpora.rows import texts_of
from experiments.records.durable import file_digest


class HubText(SplitByHash):
    """A text column of a data set on the Hugging Face hub, or of a local folder with the same layout.

    Args:
        name: name on the hub such as "Salesforce/wikitext", or a local folder.
        config: configuration of the data set such as "wikitext-103-raw-v1".
        column: the column that holds the text.
        split: the split to train on.
        validation_split: the split to validate on; a share of the documents of `split` when not given.
        validation: that share.
        revision: branch, tag or commit on the hub.
        streaming: read over the network without downloading the data set first; local folders are always streamed.
        language: "zh" makes the character tokenizer the default, and a character the word that word swap moves.
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
        return digest_of("HubText", 1, self._version(), self.config, self.column, self.split, validation)

    def _version(self) -> object:
        """Contents of a local folder; name and commit of a data set on the hub."""
        folder = Path(self.name)
        if folder.is_dir():
            files = sorted(file for file in folder.rglob("*") if file.is_file())
            return [(file.relative_to(folder).as_posix(), file_digest(file)) for file in files]
        from datasets import load_dataset_builder

        builder = self._load(load_dataset_builder, self.name, self.config, revision=self.revision)
        return self.name, builder.hash

    def _read(self, split: str) -> Iterator[str]:
        from datasets import load_dataset

        options = {"split": split, "revision": self.revision, "streaming": self.streaming}
        dataset = self._load(load_dataset, self.name, self.config, **options)
        return texts_of(dataset, self.column, f'split "{split}" of {self.name}')

    def _load(self, loader: Any, *arguments: Any, **options: Any) -> Any:
        try:
            return loader(*arguments, **options)
        except (OSError, ValueError, RuntimeError) as error:
            raise ValueError(f"cannot load the data set {self.name} (config {self.config}): {error}") from error
