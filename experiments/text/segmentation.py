"""Which Chinese characters are a word together; one small class for each way, named by class path."""

from __future__ import annotations

import functools
import logging
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any


class Segmenter(ABC):
    """A way to cut Chinese text into words; a subclass is a frozen dataclass, its fields are its settings."""

    @abstractmethod
    def cut(self, text: str) -> Iterable[str]:
        """The words of a run of Chinese characters, in order; together they are the run. A pure function."""

    def words(self, text: str) -> list[str]:
        """As of `cut`. Raises ValueError when the words together are not the text."""
        words = list(self.cut(text))
        if "".join(words) != text:
            raise ValueError(
                f"{type(self).__name__} cut {text[:40]!r} into {words[:20]}, which is not the same text; its method "
                f"cut must leave out and change nothing"
            )
        return words


@dataclass(frozen=True)
class Jieba(Segmenter):
    """The words of jieba's dictionary, and those that its hidden Markov model finds besides (extra `chinese`).

    Raises:
        ValueError: when jieba is not installed.
    """

    def __post_init__(self) -> None:
        _ = _jieba()

    def cut(self, text: str) -> Iterable[str]:
        return _jieba().cut(text)


@functools.cache
def _jieba() -> Any:
    """A tokenizer of jieba, one for all segmenters: its dictionary takes a second to read."""
    try:
        import jieba  # an extra, and only where it is asked for
    except ImportError as error:
        raise ValueError('jieba is not installed: pip install -e ".[chinese]"') from error
    jieba.setLogLevel(logging.WARNING)
    return jieba.Tokenizer()
