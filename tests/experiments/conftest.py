from __future__ import annotations

import math
from pathlib import Path

import pytest

from objectives import CLM, MLM, MaskedDiffusion
from tests.support.corpus import TinyCorpus
from tests.support.random_run import make_run


@pytest.fixture
def tiny_corpus() -> TinyCorpus:
    return TinyCorpus()


@pytest.fixture(scope="session")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Runs with random weights, to be read only: English in byte-level BPE where nothing else is said."""
    folder = tmp_path_factory.mktemp("trained")
    kinds = {"": ("bpe", 8.0), " wordpiece": ("wordpiece", 8.0), " Chinese": ("character", 8.0)}
    kinds[" diverged"] = ("bpe", math.inf)
    found = {
        cls.__name__ + name: make_run(folder / (cls.__name__ + name).replace(" ", "-"), cls, kind, scale=scale)
        for cls in (CLM, MLM)
        for name, (kind, scale) in kinds.items()
    }
    return found | {"MaskedDiffusion": make_run(folder / "MaskedDiffusion", MaskedDiffusion)}
