"""A corpus small enough to pack in milliseconds, for every test that needs text."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from experiments.corpora import SplitByHash
from experiments.corpora.base import digest_of
from objectives import CLM, MLM
from tests.trained import make_run

WORDS = ["the", "king", "of", "Israel", "went", "up", "to", "battle", "and", "his", "people", "saw", "it"]


class TinyCorpus(SplitByHash):
    """Documents of random words, drawn from a seed."""

    def __init__(self, documents: int = 200, seed: int = 0, validation: float = 0.2, probe: float = 0.1) -> None:
        super().__init__(validation, probe)
        self.count, self.seed = documents, seed

    def texts(self) -> Iterator[str]:
        draw = random.Random(self.seed)
        for _ in range(self.count):
            yield " ".join(draw.choices(WORDS, k=draw.randint(4, 30))) + "."

    def fingerprint(self) -> str:
        return digest_of("TinyCorpus", self.count, self.seed, self.validation, self.probe)


@pytest.fixture
def tiny_corpus() -> TinyCorpus:
    return TinyCorpus()


@pytest.fixture(scope="session")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Runs with random weights, to be read only: English in byte-level BPE where nothing else is said."""
    folder = tmp_path_factory.mktemp("trained")
    kinds = {"": ("bpe", 8.0), " wordpiece": ("wordpiece", 8.0), " Chinese": ("character", 8.0)}
    kinds[" diverged"] = ("bpe", math.inf)
    return {
        cls.__name__ + name: make_run(folder / (cls.__name__ + name).replace(" ", "-"), cls, kind, scale=scale)
        for cls in (CLM, MLM)
        for name, (kind, scale) in kinds.items()
    }
