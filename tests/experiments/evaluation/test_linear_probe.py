"""Linear probes of frozen features."""

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, f1_score

from experiments.data.evaluation_inputs import EncodedTask, EncodedText
from experiments.evaluation.linear_probe import linear_probe, scores
from objectives import CLM, MLM
from tests.support.objectives import build


def test_a_probe_finds_what_the_features_show():
    """Texts of one of two letters: the features of a random encoder separate them; random labels cannot be learned."""
    draw = np.random.default_rng(0)
    texts = [
        [5 + int(kind)] * int(length)
        for kind, length in zip(draw.integers(0, 2, 300), draw.integers(1, 9, 300), strict=True)
    ]
    honest = [EncodedText(text, "ab"[text[0] - 5]) for text in texts]
    random = [EncodedText(text, "ab"[label]) for text, label in zip(texts, draw.integers(0, 2, 300), strict=True)]
    objective = build(MLM)
    result = linear_probe(objective, EncodedTask("t", "sequence", honest[:200], honest[200:]))
    assert result["accuracy"] == result["macro_f1"] == 1.0
    chance = linear_probe(objective, EncodedTask("t", "sequence", random[:200], random[200:]))
    assert 0.3 < chance["accuracy"] < 0.7


def test_a_token_probe_has_one_row_per_token():
    """The label of a token is its own id: found at each position, in whatever order the texts are batched."""
    draw = np.random.default_rng(1)
    texts = [draw.integers(5, 10, draw.integers(1, 9)).tolist() for _ in range(200)]
    labelled = [EncodedText(text, tuple(str(token) for token in text)) for text in texts]
    result = linear_probe(build(MLM), EncodedTask("t", "token", labelled[:150], labelled[150:]))
    assert result["accuracy"] > 0.99


def test_causal_features_of_a_token_do_not_know_the_next():
    draw = np.random.default_rng(2)
    texts = [draw.integers(5, 9, 6).tolist() for _ in range(300)]
    following = [EncodedText(text, (*(str(token) for token in text[1:]), "end")) for text in texts]
    probe = EncodedTask("next", "token", following[:200], following[200:])
    assert linear_probe(build(CLM), probe)["accuracy"] < 0.6
    assert linear_probe(build(MLM), probe)["accuracy"] > linear_probe(build(CLM), probe)["accuracy"]


def some_predictions(seed, texts=300, longest=9):
    """Texts whose tokens are hard or easy together, and what was named of their labels."""
    draw = np.random.default_rng(seed)
    found, named = [], []
    for _ in range(texts):
        length, right = int(draw.integers(1, longest)), draw.beta(0.5, 0.5)
        labels = draw.choice(list("aaaabbc"), length)
        found.append(EncodedText([5] * length, tuple(map(str, labels))))
        named += [str(one if draw.random() < right else draw.choice(list("abc"))) for one in labels]
    return found, named


def test_scores_are_those_of_scikit_learn():
    texts, named = some_predictions(0)
    labels, found = [one for text in texts for one in text.label], scores(named, texts)
    assert found["accuracy"] == pytest.approx(accuracy_score(labels, named))
    assert found["macro_f1"] == pytest.approx(f1_score(labels, named, average="macro"))


def test_standard_errors_are_how_much_scores_vary_over_draws_of_texts():
    """Tokens of one text are right or wrong together: taken as independent, they would claim too little."""
    draws = [scores(named, texts) for texts, named in (some_predictions(seed, texts=100) for seed in range(200))]
    for kind in ("accuracy", "macro_f1"):
        claimed = np.mean([one[f"{kind}_standard_error"] for one in draws])
        assert claimed == pytest.approx(np.std([one[kind] for one in draws]), rel=0.12)
    mean, tokens = np.mean([one["accuracy"] for one in draws]), 100 * 4.5
    assert np.std([one["accuracy"] for one in draws]) > 1.4 * np.sqrt(mean * (1 - mean) / tokens)
