"""Parts share no text, by hashes, against sets of texts."""

import random

import numpy as np
import pytest

from experiments.corpora.labelled import LabelledText
from experiments.data.evaluation_inputs import hashes
from experiments.evaluation.tasks.parts import disjoint


def part(*texts):
    return [LabelledText((text,) if isinstance(text, str) else text, "x") for text in texts]


NONE = np.array([], np.uint64)


def test_what_is_shared_is_an_error_with_its_count_and_an_example():
    train, test = part("a", "b", "c", "b "), part("x", " b", "c\n", "y")
    with pytest.raises(ValueError, match="3 of the 4 texts of train are in test too, such as 'b'"):
        disjoint({"train": train, "test": test}, NONE, "error")
    with pytest.raises(ValueError, match="1 of the 2 texts of validation are in test too, such as 'y'"):
        disjoint({"train": part("q"), "validation": part("y", "z"), "test": test}, NONE, "error")
    documents = np.unique(hashes(["y ", "other", "x y"]))
    with pytest.raises(ValueError, match="1 of the 4 texts of test are in the pretraining text too, such as 'y'"):
        disjoint({"train": part("q"), "test": test}, documents, "error")
    assert disjoint({"train": part("a"), "test": test}, NONE, "error") == ({"train": part("a"), "test": test}, [])


def test_of_pairs_both_texts_are_shared_between_parts_and_one_with_documents():
    train, test = part(("a", "b"), ("a", "c")), part(("a", "d"), ("a", "b"))
    with pytest.raises(ValueError, match="1 of the 2 texts of train"):
        disjoint({"train": train, "test": test}, NONE, "error")
    with pytest.raises(ValueError, match="1 of the 2 texts of test are in the pretraining text"):
        disjoint({"train": train, "test": test}, np.unique(hashes(["d"])), "error")


def test_dropping_by_sets():
    draw = random.Random(0)
    texts = [f"text {n}" for n in range(60)]
    parts = {name: part(*draw.choices(texts, k=30)) for name in ("train", "validation", "test")}
    documents = set(draw.sample(texts, 10))
    kept, remarks = disjoint(parts, np.unique(hashes(documents)), "drop")
    found = {name: [one.texts[0] for one in some] for name, some in kept.items()}
    given = {name: [one.texts[0] for one in some] for name, some in parts.items()}
    assert found["test"] == [one for one in given["test"] if one not in documents]
    assert found["validation"] == [one for one in given["validation"] if one not in documents | set(found["test"])]
    above = documents | set(found["test"]) | set(found["validation"])
    assert found["train"] == [one for one in given["train"] if one not in above]
    lost = sum(len(given[name]) - len(found[name]) for name in parts)
    assert sum(int(remark.split()[0]) for remark in remarks) == lost > 20
