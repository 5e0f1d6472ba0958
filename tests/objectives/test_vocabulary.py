"""Regular ids by rank, and vocabularies that are refused."""

import pytest
import torch

from objectives import Vocabulary
from tests.support.objectives import VOCABULARY


def test_nth_regular_skips_every_special():
    ids = VOCABULARY.nth_regular(torch.arange(VOCABULARY.regular)).tolist()
    assert ids == [i for i in range(VOCABULARY.size) if i not in VOCABULARY.specials]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"size": 5}, "no room"),
        ({"pad": 3}, "distinct"),
        ({"specials": (0, 1, 2, 3)}, "every special id"),
        ({"specials": (0, 1, 2, 3, 4, 99), "size": 50}, "do not fit"),
    ],
)
def test_impossible_vocabularies_are_refused(change, words):
    values = {"size": 40, "pad": 0, "unknown": 1, "cls": 2, "sep": 3, "mask": 4, "specials": (0, 1, 2, 3, 4)}
    with pytest.raises(ValueError, match=words):
        Vocabulary(**{**values, **change})
