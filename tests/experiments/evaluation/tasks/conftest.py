from __future__ import annotations

import pytest

from experiments.corpora import LocalText
from experiments.data import TextData
from experiments.text.tokenizer import TokenizerConfig
from tests.support.tiny import write_text


@pytest.fixture(scope="session")
def data(tmp_path_factory):
    """Packed blocks of 32 tokens of random sentences, in byte-level BPE."""
    folder = tmp_path_factory.mktemp("data")
    corpus = LocalText(str(write_text(folder / "text.txt")), validation=0.2)
    found = TextData(corpus, TokenizerConfig("bpe", 300), 32, 4, validation_blocks=8, root=str(folder / "packed"))
    found.prepare_data()
    return found
