"""Scores of a task, against scikit-learn, and their standard errors, by drawing."""

import math
import warnings

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, f1_score, matthews_corrcoef

from experiments.data.evaluation_inputs import EncodedText
from experiments.evaluation.tasks.scores import entity_f1, matthews, task_scores


def draw_items(seed, count=200, classes="aaabc", right=0.6):
    draw = np.random.default_rng(seed)
    true = draw.choice(list(classes), count).tolist()
    return [str(one if draw.random() < right else draw.choice(list(classes))) for one in true], list(map(str, true))


@pytest.mark.parametrize("classes", ["ab", "aaabc", "abcdefgh"])
def test_scores_are_those_of_scikit_learn(classes):
    for seed in range(20):
        named, true = draw_items(seed, 50, classes)
        found = task_scores(named, [EncodedText([], one) for one in true], ("accuracy", "macro_f1", "mcc"))
        assert found["accuracy"] == pytest.approx(accuracy_score(true, named))
        assert found["macro_f1"] == pytest.approx(f1_score(true, named, average="macro"))
        assert found["mcc"] == pytest.approx(matthews_corrcoef(true, named))


def test_who_names_one_class_alone_has_no_correlation():
    for named, true in ((["a"] * 4, list("aabb")), (list("aabb"), ["a"] * 4), (["a"] * 3, ["a"] * 3)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            assert matthews(named, true)[0] == 0 == matthews_corrcoef(true, named)


def draw_tags(seed, texts=80):
    """Texts that are hard or easy as a whole."""
    draw = np.random.default_rng(seed)
    tags, named, found = ["O", "O", "B-X", "I-X", "B-Y"], [], []
    for _ in range(texts):
        true, right = draw.choice(tags, draw.integers(1, 15)).tolist(), draw.beta(0.7, 0.7)
        found.append(EncodedText([], tuple(true)))
        named += [one if draw.random() < right else str(draw.choice(tags)) for one in true]
    return named, found


@pytest.mark.parametrize(("score", "draw"), [(matthews, draw_items), (entity_f1, draw_tags)])
def test_standard_errors_are_how_much_scores_vary(score, draw):
    found = [score(*draw(seed)) for seed in range(200)]
    values, errors = zip(*found, strict=True)
    assert np.mean(errors) == pytest.approx(np.std(values), rel=0.12)
    parts = np.array([one.parts for one in values])
    assert np.abs(parts.sum(1)).max() < 1e-4
    assert np.mean(20 / 19 * (parts**2).sum(1)) == pytest.approx(np.var(values), rel=0.2)


def test_without_entities_the_f1_is_nothing():
    value, error = entity_f1(["O", "O"], [EncodedText([], ("O", "O"))])
    assert value == 0 and math.isnan(error)
