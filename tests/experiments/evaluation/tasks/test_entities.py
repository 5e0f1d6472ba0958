"""Entities in BIO tags, against seqeval."""

import random
import warnings

import pytest

from experiments.data.evaluation_inputs import EncodedText
from experiments.evaluation.tasks.entities import are_bio, entities
from experiments.evaluation.tasks.scores import entity_f1

TAGS = ["O", "O", "B-PER", "I-PER", "B-LOC", "I-LOC", "B-A-B", "I-A-B", "I-A"]


def test_by_hand():
    assert list(entities(["B-PER", "I-PER", "O", "I-LOC", "B-LOC", "I-PER"])) == [
        ("PER", 0, 2),
        ("LOC", 3, 4),
        ("LOC", 4, 5),
        ("PER", 5, 6),
    ]
    assert list(entities([])) == [] and list(entities(["I-X"])) == [("X", 0, 1)]


@pytest.mark.parametrize("tags", [TAGS, ["O", "B", "I", "B-X", "I-X"]])
@pytest.mark.parametrize("alike", [0.0, 0.8])
def test_entities_and_f1_are_those_of_seqeval(tags, alike):
    """On random sequences, most of them malformed, and on named ones that resemble the true ones."""
    reference = pytest.importorskip("seqeval.metrics", reason="the reference of entity F1")
    draw = random.Random(0)
    for _ in range(200):
        true = [draw.choices(tags, k=draw.randint(1, 12)) for _ in range(draw.randint(1, 6))]
        named = [[tag if draw.random() < alike else draw.choice(tags) for tag in one] for one in true]
        for one in true:
            ours = [(kind or "_", start, end - 1) for kind, start, end in entities(one)]
            assert ours == reference.sequence_labeling.get_entities(one)
        texts = [EncodedText([], tuple(one)) for one in true]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            expected = reference.f1_score(true, named)
        assert entity_f1([tag for one in named for tag in one], texts)[0] == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(
    ("tags", "expected"),
    [
        (["O", "B-X", "I-X"], True),
        (["B", "I", "O"], True),
        (["O"], False),
        (["NOUN", "O"], False),
        (["Bad"], False),
        ([], False),
    ],
)
def test_which_tags_mark_entities(tags, expected):
    assert are_bio(tags) == expected
