"""What probes are read against: by counting, and of an encoder that was not trained."""

import numpy as np
import pytest
import torch

from experiments.data.evaluation_inputs import EncodedTask, EncodedText
from experiments.evaluation.baselines import BagOfTokens, BayesAccuracy, MajorityClass, UntrainedEncoder, bag_of_tokens
from experiments.evaluation.linear_probe import LinearProbe, linear_probe, majority_share
from objectives import CLM, MLM
from tests.support.known_rules import make_data
from tests.support.objectives import VOCABULARY, build


def task(level, texts, labels):
    encoded = [EncodedText(text, label) for text, label in zip(texts, labels, strict=True)]
    return EncodedTask("t", level, encoded[: len(texts) // 2], encoded[len(texts) // 2 :])


def test_majority_by_hand():
    found = task("sequence", [[5]] * 8, "aaab" + "abbb")
    assert majority_share(found) == 0.25


def test_a_bag_knows_counts_and_no_order():
    draw = np.random.default_rng(0)
    texts = [draw.permutation([5, 6, *draw.integers(7, 30, 5)]).tolist() for _ in range(600)]
    counts = task("sequence", texts, ["many" if sum(t > 18 for t in text) > 2 else "few" for text in texts])
    assert bag_of_tokens(counts, VOCABULARY.size)["accuracy"] > 0.9
    order = task("sequence", texts, ["56" if text.index(5) < text.index(6) else "65" for text in texts])
    assert bag_of_tokens(order, VOCABULARY.size)["accuracy"] < 0.6


def test_at_token_level_the_bag_is_the_token():
    """Its best guess is the most frequent label of each token: counted here."""
    draw = np.random.default_rng(1)
    texts = [draw.integers(5, 12, 8).tolist() for _ in range(400)]
    labels = [tuple("x" if draw.random() < (token - 5) / 6 else "y" for token in text) for text in texts]
    found = task("token", texts, labels)
    train, test = ([p for t in part for p in zip(t.ids, t.label, strict=True)] for part in (found.train, found.test))
    often = {token: [label for t, label in train if t == token] for token in range(5, 12)}
    guess = {token: max(set(labels), key=labels.count) for token, labels in often.items()}
    expected = np.mean([guess[token] == label for token, label in test])
    assert bag_of_tokens(found, VOCABULARY.size)["accuracy"] == pytest.approx(expected, abs=0.01)


@pytest.mark.parametrize("cls", [CLM, MLM])
def test_the_untrained_encoder_is_the_one_that_training_began_with(cls):
    data = make_data()
    first = build(cls, vocabulary=data.vocabulary)
    first.load_state_dict(type(first)(**{**vars(first.shared), **own_settings(first)}).state_dict())
    expected = linear_probe(first, data.labelled_tasks[0])
    trained = build(cls, vocabulary=data.vocabulary)
    with torch.no_grad():
        for parameter in trained.parameters():
            parameter.add_(torch.randn(parameter.shape, generator=torch.Generator().manual_seed(1)))
    metric, probe = UntrainedEncoder(), LinearProbe()
    for one in (metric, probe):
        one.prepare(data)
    assert metric.measure(trained) == {f"probe/states/untrained_{kind}": value for kind, value in expected.items()}
    assert probe.measure(trained)["probe/states/accuracy"] != expected["accuracy"]


def own_settings(objective):
    return {"corruption": objective.corruption} if isinstance(objective, MLM) else {}


def test_baselines_are_levels_of_the_scores_of_the_probe():
    data = make_data()
    probe = LinearProbe()
    probe.prepare(data)
    scores = {quantity.name: quantity for quantity in probe.quantities()}
    bounds = {}
    for metric in (MajorityClass(), BagOfTokens(), UntrainedEncoder(), BayesAccuracy()):
        assert metric.constant
        metric.prepare(data)
        declared = {quantity.name: quantity for quantity in metric.quantities()}
        levels = [quantity for quantity in declared.values() if quantity.level_of]
        assert len(declared) == 2 * len(levels)
        for quantity in levels:
            assert declared[quantity.standard_error].unit == quantity.unit
            assert scores[quantity.level_of].unit == quantity.unit and not quantity.comparable
            bounds[quantity.name] = quantity.bounds
    assert [name for name, whom in bounds.items() if whom == "causal"] == ["probe/states/bayes_accuracy_past"]
    assert [name for name, whom in bounds.items() if whom == "all"] == ["probe/states/bayes_accuracy_both"]


@pytest.mark.parametrize(("rare", "headline"), [(4, "macro F1"), (5, "accuracy")])
def test_macro_f1_is_the_headline_of_an_imbalanced_task(monkeypatch, rare, headline):
    """Of 20 labels, 4 are rare: the majority class is 0.8 of them."""
    data = make_data()
    texts = [EncodedText([5], "b" if place < rare else "a") for place in range(20)]
    monkeypatch.setattr(data, "labelled_tasks", [EncodedTask("t", "sequence", texts, texts)])
    probe = LinearProbe()
    probe.prepare(data)
    assert [quantity.unit for quantity in probe.quantities() if quantity.headline] == [headline]


def test_the_bayes_accuracy_has_the_standard_error_of_a_mean_over_blocks():
    data, metric = make_data(), BayesAccuracy()
    metric.prepare(data)
    found = metric.measure(build(CLM, vocabulary=data.vocabulary))
    for view, accuracy_B in data.bayes_accuracies["states"].items():
        assert found[f"probe/states/bayes_accuracy_{view}"] == pytest.approx(accuracy_B.mean().item())
        expected = accuracy_B.std().item() / len(accuracy_B) ** 0.5
        assert found[f"probe/states/bayes_accuracy_{view}_standard_error"] == pytest.approx(expected)
