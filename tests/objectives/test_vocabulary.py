"""Regular ids by rank, and vocabularies that are refused."""

import pytest
import torch

from objectives import Vocabulary
from tests.support.objectives import HOLES, VOCABULARY


@pytest.mark.parametrize("vocabulary", [VOCABULARY, HOLES])
def test_nth_regular_skips_every_special_and_every_hole(vocabulary):
    expected = [i for i in range(vocabulary.size) if i not in (*vocabulary.specials, *vocabulary.unused)]
    assert vocabulary.nth_regular(torch.arange(vocabulary.regular)).tolist() == expected
    ranks = torch.arange(vocabulary.regular).expand(2, -1).T  # any shape, and not contiguous
    assert vocabulary.nth_regular(ranks).T.tolist() == [expected, expected]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"size": 5}, "no room"),
        ({"pad": 3}, "distinct"),
        ({"specials": (0, 1, 2, 3)}, "every special id"),
        ({"specials": (0, 1, 2, 3, 4, 99), "size": 50}, "do not fit"),
        ({"unused": (4, 7)}, "not special, each once"),
        ({"unused": (9, 7)}, "in ascending order"),
        ({"unused": (7, 40)}, "unused ids 7 to 40 do not fit a vocabulary of 40"),
        ({"unused": tuple(range(5, 40))}, "no token besides its special ones"),
    ],
)
def test_impossible_vocabularies_are_refused(change, words):
    values = {"size": 40, "pad": 0, "unknown": 1, "cls": 2, "sep": 3, "mask": 4, "specials": (0, 1, 2, 3, 4)}
    with pytest.raises(ValueError, match=words):
        Vocabulary(**{**values, **change})
