"""Linear probes of frozen features."""

import numpy as np

from experiments.data.evaluation_inputs import EncodedTask, EncodedText
from experiments.evaluation.linear_probe import linear_probe
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
