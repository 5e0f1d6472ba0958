"""A corpus small enough to pack in milliseconds."""

from __future__ import annotations

import random
from collections.abc import Iterator

from experiments.corpora import SplitByHash
from experiments.corpora.base import digest_of
from experiments.text.tokenizer import Tokenizer

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


def as_document(tokenizer: Tokenizer, ids: list[int]) -> list[int]:
    """A document as the models read it: [CLS] ids [SEP]."""
    return [tokenizer.roles["cls"], *ids, tokenizer.roles["sep"]]
