"""A corpus of text as packed blocks.

T tokens a block.
"""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch

from experiments.corpora.base import Corpus
from experiments.data.base import BlockData
from experiments.data.evaluation_inputs import EncodedTask, PretrainingText, TextSentences, encode_task
from experiments.data.stream import BlockStream, Items
from experiments.text.packed_blocks import PackedBlocks, open_packed_blocks
from experiments.text.packing import pack, packed_directory
from experiments.text.segmentation import Segmenter
from experiments.text.tokenizer import Tokenizer, TokenizerConfig
from experiments.text.word_starts import WordStarts, word_starts
from objectives import Batch, Vocabulary


class TextData(BlockData):
    """A corpus as blocks of tokens, packed once by `prepare_data` and shared by all runs below one root.

    Args:
        corpus: where the text comes from.
        tokenizer: how it is cut into tokens.
        block_length: T, the tokens of a block; at most what the encoder can read.
        batch_size: blocks that one device reads at once.
        validation_blocks: at most so many validation blocks are read in an evaluation, evenly spread over all of them.
        num_workers: processes that read ahead; the batches do not depend on it.
        seed: of the order of the training blocks.
        root: directory below which packed data is kept and shared; data/ beside the runs when not given.
        segmenter: which Chinese characters are a word together, for objectives that select whole words, such as the
            class path experiments.text.segmentation.Jieba; each is one by itself when not given.
    """

    def __init__(
        self,
        corpus: Corpus,
        tokenizer: TokenizerConfig = TokenizerConfig(),  # noqa: B008 - frozen
        block_length: int = 128,
        batch_size: int = 32,
        validation_blocks: int = 256,
        num_workers: int = 0,
        seed: int = 0,
        root: str | None = None,
        segmenter: Segmenter | None = None,
    ) -> None:
        super().__init__(block_length, batch_size, validation_blocks, num_workers, seed)
        self.corpus = corpus
        self.tokenizer_config = tokenizer
        self.root = root or "results/data"
        self.segmenter = segmenter
        self.language = corpus.language
        self._packed: PackedBlocks | None = None

    def prepare_data(self) -> None:
        """Packs the corpus, unless that has been done; the only place where data is made."""
        if self._packed is None:
            self._packed = pack(self.corpus, self.tokenizer_config, self.block_length, self.root)

    @property
    def packed(self) -> PackedBlocks:
        """The packed corpus. Raises ValueError when there is none yet."""
        if self._packed is None:
            directory = packed_directory(self.corpus, self.tokenizer_config, self.block_length, self.root)
            if not directory.exists():
                raise ValueError(f"{self.source} has not been packed into {directory}; call prepare_data() first")
            self._packed = open_packed_blocks(directory)
        return self._packed

    @property
    def tokenizer(self) -> Tokenizer:
        return self.packed.tokenizer

    @cached_property
    def vocabulary(self) -> Vocabulary:
        return self.tokenizer.vocabulary(self.packed.characters_per_token)

    @property
    def fingerprints(self) -> dict[str, str]:
        return {"tokenizer": self.tokenizer.fingerprint, "data": self.packed.fingerprint}

    @property
    def source(self) -> str:
        return type(self.corpus).__name__

    @cached_property
    def pretraining_text(self) -> PretrainingText:
        return PretrainingText(self.corpus, self.tokenizer)

    def record(self) -> dict[str, Any]:
        return {**super().record(), "round_trip": self.packed.round_trip.record()}

    def save_tokenizer(self, directory: Path) -> None:
        self.tokenizer.save(directory / "tokenizer.json")

    def stream(self, rank: int, world_size: int, start_batch: int) -> BlockStream:
        blocks = self.packed.block_count("train")
        return BlockStream(blocks, self.batch_size, self.seed, rank, world_size, start_batch)

    def validation_block_count(self) -> int:
        return self.packed.block_count("validation")

    def batch_of(self, split: str, items: Items) -> Batch:
        items_B2 = torch.tensor(items, dtype=torch.int64).reshape(-1, 2)
        # Mapped at each batch and not kept: a mapped array that is pickled for a worker would be read whole.
        tokens_BT = self.packed.blocks(split)[items_B2[:, 1].numpy()].astype(np.int64)
        starts_BT = None if self._word_starts is None else torch.from_numpy(self._word_starts(tokens_BT))
        return Batch(torch.from_numpy(tokens_BT), items_B2[:, 0].clone(), items_B2[:, 1].clone(), starts_BT)

    @cached_property
    def _word_starts(self) -> WordStarts | None:
        return word_starts(self.tokenizer, self.segmenter)

    @cached_property
    def labelled_tasks(self) -> list[EncodedTask]:
        """The corpus's labelled tasks; texts are cut where a block would end."""
        return [encode_task(task, self.tokenizer, self.block_length - 2) for task in self.corpus.labelled_tasks()]

    def validation_sentences(self, count: int) -> TextSentences:
        return TextSentences(self.corpus.sentences(), self.tokenizer)
