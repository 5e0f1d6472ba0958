"""Scores against brute force: one sentence, one position, one forward pass."""

import pytest
import torch

from objectives import CLM, MLM
from tests.objectives.conftest import VOCABULARY, build

SENTENCES = [[5, 9, 9, 12], [20], [6, 7, 8, 21, 30, 1, 39]]


def log_softmax(objective, inputs, position):
    with torch.no_grad():
        hidden = objective.encoder(torch.tensor([inputs]), objective.reading)
        return objective.encoder.decode(objective.encoder.head(hidden[0, position])).double().log_softmax(-1)


def test_chain_rule_by_brute_force():
    objective = build(CLM).eval()
    expected = [
        [log_softmax(objective, [VOCABULARY.cls, *sentence[:t]], t)[token].item() for t, token in enumerate(sentence)]
        for sentence in SENTENCES
    ]
    for ours, theirs in zip(objective.score(SENTENCES), expected, strict=True):
        assert ours == pytest.approx(theirs, abs=1e-5)


def test_chain_rule_is_a_joint_probability():
    """Over all continuations of a prefix, the end token included, the probabilities sum to 1."""
    objective = build(CLM).eval()
    (prefix,) = objective.score([[5, 9]])
    both = objective.score([[5, 9, token] for token in range(VOCABULARY.size)])
    assert all(score[:2] == pytest.approx(prefix, abs=1e-5) for score in both)
    assert sum(torch.tensor([score[2] for score in both]).exp()) == pytest.approx(1.0, abs=1e-5)


def test_pseudo_log_likelihood_by_brute_force():
    objective = build(MLM).eval()
    expected = []
    for sentence in SENTENCES:
        row = [VOCABULARY.cls, *sentence, VOCABULARY.sep]
        values = []
        for position, token in enumerate(sentence, start=1):
            shown = [*row[:position], VOCABULARY.mask, *row[position + 1 :]]
            values.append(log_softmax(objective, shown, position)[token].item())
        expected.append(values)
    for ours, theirs in zip(objective.score(SENTENCES), expected, strict=True):
        assert ours == pytest.approx(theirs, abs=1e-5)


@pytest.mark.parametrize("cls", [CLM, MLM])
def test_many_sentences_come_back_in_order(cls, monkeypatch):
    objective = build(cls)
    generator = torch.Generator().manual_seed(0)
    sentences = [
        torch.randint(5, 40, (int(length),), generator=generator).tolist()
        for length in torch.randint(0, 12, (40,), generator=generator)
    ]
    expected = objective.score(sentences)
    monkeypatch.setattr("objectives.scoring.TOKENS_PER_BATCH", 30)
    for ours, theirs in zip(objective.score(sentences), expected, strict=True):
        assert ours == pytest.approx(theirs, abs=1e-5)
