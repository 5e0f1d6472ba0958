"""What every source of blocks shares: the loaders, and what it hands to an evaluation.

B blocks a batch, T tokens a block.
"""

from __future__ import annotations

import itertools
import os
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, ClassVar

import torch
from torch import Tensor
from torch.utils.data import DataLoader, IterableDataset, get_worker_info

from experiments.data.evaluation_inputs import EncodedTask, PretrainingText, TextSentences
from experiments.data.stream import Items, validation_items
from objectives import Batch, View, Vocabulary

PARALLELISM = "TOKENIZERS_PARALLELISM"
MOST_TOKENS = 2**26
"""Of one device at once; more is a slip, and would hang or fill the memory."""
MOST_WORKERS = 256


def check_sizes(block_length: int, batch_size: int, validation_blocks: int, num_workers: int, seed: int) -> None:
    """Raises ValueError when a setting that all data has is out of range."""
    positive = {"block_length": block_length, "batch_size": batch_size, "validation_blocks": validation_blocks}
    for name, value in positive.items():
        if value < 1:
            raise ValueError(f"{name}={value} must be positive")
    if block_length * batch_size > MOST_TOKENS:
        raise ValueError(
            f"a batch has at most {MOST_TOKENS:,} tokens, but batch_size={batch_size} blocks of "
            f"block_length={block_length} make {block_length * batch_size:,}"
        )
    if seed < 0 or not 0 <= num_workers <= MOST_WORKERS:
        raise ValueError(f"seed={seed} must not be negative and num_workers={num_workers} from 0 to {MOST_WORKERS}")


class BlockData(ABC):
    """Blocks of T tokens: an endless training stream, and validation blocks in a fixed order.

    Plain Python, because importing Lightning takes seconds that a plan has no use for. `prepare_data` is where data is
    made, once for all processes; everything else reads what is there.

    Args:
        block_length: T, the tokens of a block.
        batch_size: blocks that one device reads at once.
        validation_blocks: at most so many blocks are read in an evaluation.
        num_workers: processes that read ahead; the batches do not depend on it.
        seed: of the order of the training blocks.
    """

    measured_on: ClassVar[tuple[str, ...]] = ("validation_blocks",)
    """Settings that decide what models are measured on, and nothing of what they are trained on."""
    placement: ClassVar[tuple[str, ...]] = ("num_workers", "root")
    """Settings that say where and how fast the data is made, not what it is."""
    language: str | None = None
    """That of the text, such as "zh"; None where it is not known, or no natural language."""

    def __init__(self, block_length: int, batch_size: int, validation_blocks: int, num_workers: int, seed: int) -> None:
        check_sizes(block_length, batch_size, validation_blocks, num_workers, seed)
        self.block_length = block_length
        self.batch_size = batch_size
        self.validation_blocks = validation_blocks
        self.num_workers = num_workers
        self.seed = seed

    def prepare_data(self) -> None:
        """Make the data, where it has to be made and has not been."""
        return None

    @property
    def tokens_per_batch(self) -> int:
        """Tokens that one device reads at once."""
        return self.batch_size * self.block_length

    @property
    @abstractmethod
    def vocabulary(self) -> Vocabulary:
        """What an objective has to know about the tokens."""

    @property
    @abstractmethod
    def fingerprints(self) -> dict[str, str]:
        """Hashes of "tokenizer" and "data": equal where two runs read the same text in the same tokens."""

    @property
    @abstractmethod
    def source(self) -> str:
        """Name of the corpus or of the language."""

    @abstractmethod
    def stream(self, rank: int, world_size: int, start_batch: int) -> Iterable[Items]:
        """Items of the training batches of one rank, without end."""

    @abstractmethod
    def validation_block_count(self) -> int:
        """Number of blocks in the validation split."""

    @abstractmethod
    def batch_of(self, split: str, items: Items) -> Batch:
        """The blocks of some items of "train" or "validation"; called in the process that loads."""

    @property
    @abstractmethod
    def labelled_tasks(self) -> list[EncodedTask]:
        """Labelled tasks in token ids."""

    @abstractmethod
    def validation_sentences(self, count: int) -> TextSentences | list[list[int]]:
        """Sentences of the validation split: all those of a text, or `count` whole blocks of a generated language as
        token ids without special tokens."""

    @property
    def pretraining_text(self) -> PretrainingText | None:
        """What the blocks were made of; None where they stand for no text."""
        return None

    def record(self) -> dict[str, Any]:
        """What a run's records say of its data, once that is made."""
        return {"corpus": self.source, "language": self.language}

    def save_tokenizer(self, directory: Path) -> None:
        """Write the tokenizer into a run's directory, where the tokens stand for text."""
        return None

    @property
    def bayes_accuracies(self) -> dict[str, dict[str, Tensor]]:
        """By labelled task, the expected accuracy of the best guess from what a view of the text gives away, one for
        each test text, float64; none where the rules of the text are not known."""
        return {}

    def bayes_loss(self, view: View, tokens_BT: Tensor) -> Tensor | None:
        """Least possible nats at each target position of a view of clean tokens, (B, T) float64, 0 elsewhere.

        None where it is not known.
        """
        return None

    def sentence_nats(self, sentences: list[list[int]]) -> Tensor | None:
        """−log p of sentences of `validation_sentences`, given how many tokens they have; (S,) float64, in nats.

        None where it is not known.
        """
        return None

    def train_batches(self, start_batch: int = 0, rank: int = 0, world_size: int = 1) -> DataLoader:
        """One rank's batches of the endless stream, from one of them on."""
        return self._loader("train", self.stream(rank, world_size, start_batch))

    def validation_batches(self, rank: int = 0, world_size: int = 1) -> DataLoader:
        """One rank's part of at most `validation_blocks` blocks, evenly spread; the last batch may be smaller."""
        count = self.validation_block_count()
        items = validation_items(count, self.validation_blocks, self.batch_size, rank, world_size)
        return self._loader("validation", items)

    def _loader(self, split: str, batches: Iterable[Items]) -> DataLoader:
        return _Loader(
            _Batches(self, split, batches),
            batch_size=None,
            num_workers=self.num_workers,
            pin_memory=torch.cuda.is_available(),
            # Its own, or each pass over the validation blocks would move the global one on.
            generator=torch.Generator(),
        )


class _Loader(DataLoader):
    """A loader whose workers are started with the threads of `tokenizers` switched off: they do not survive a fork.

    The environment is changed for that moment only, and not at all where the user has set the variable.
    """

    def __iter__(self) -> Any:
        if not self.num_workers or PARALLELISM in os.environ:
            return super().__iter__()
        os.environ[PARALLELISM] = "false"
        try:
            return super().__iter__()
        finally:
            del os.environ[PARALLELISM]


class _Batches(IterableDataset):
    """Batches of blocks for the items given. With workers, batch k comes from worker k mod their number.

    An iterable data set, because Lightning puts its own sampler in place of others when there are several ranks.
    """

    def __init__(self, data: BlockData, split: str, batches: Iterable[Items]) -> None:
        self.data = data
        self.split = split
        self.batches = batches

    def __iter__(self) -> Iterator[Batch]:
        worker = get_worker_info()
        first, step = (worker.id, worker.num_workers) if worker else (0, 1)
        for items in itertools.islice(self.batches, first, None, step):
            yield self.data.batch_of(self.split, items)
