"""Likelihood of validation sentences, exact or bounded."""

import math

import pytest

from experiments.data.evaluation_inputs import TextSentences
from experiments.evaluation import Likelihood, NotMeasured
from experiments.evaluation.evaluation import Evaluation
from experiments.evaluation.likelihood import validation_sentences
from experiments.records.quantities import Declarations
from objectives import CLM, MLM, MaskedDiffusion
from objectives.inference.elbo import evidence_lower_bound
from objectives.inference.language_model import ObjectiveLanguageModel
from objectives.inference.scoring import chain_rule, total
from tests.support.known_rules import RULES, make_data
from tests.support.objectives import build


def measured(objective, data, **settings):
    metric = {"class_path": "experiments.evaluation.Likelihood", "init_args": settings}
    return Evaluation(data, [metric]).measure(objective, Declarations(), 64)


def by_hand(nats, lengths):
    """Ratio and its standard error over sentences."""
    mean = sum(nats) / sum(lengths)
    squares = sum((x - mean * n) ** 2 for x, n in zip(nats, lengths, strict=True))
    return mean, math.sqrt(len(nats) / (len(nats) - 1) * squares) / sum(lengths)


def test_on_known_rules_each_objective_is_measured_beside_the_exact_likelihood():
    data = make_data()
    sentences = data.validation_sentences(12)
    models = {cls: build(cls, vocabulary=data.vocabulary) for cls in (CLM, MaskedDiffusion)}
    scores = {
        CLM: chain_rule(ObjectiveLanguageModel(models[CLM]), sentences),
        MaskedDiffusion: evidence_lower_bound(ObjectiveLanguageModel(models[MaskedDiffusion]), sentences, 6),
    }
    initial, step, emit = RULES.initial_S, RULES.transition_SS, RULES.emission_SV
    exact = []
    for sentence in sentences:
        message = initial * emit[:, sentence[0] - 5]
        for token in sentence[1:]:
            message = (message @ step) * emit[:, token - 5]
        exact.append(-math.log(message.sum()))
    for cls, model in models.items():
        values, declared = measured(model, data, sentences=12, samples=6)
        expected = by_hand([-total(one) for one in scores[cls]], [14] * 12)
        floor = by_hand(exact, [14] * 12)
        assert values["likelihood/nats_per_token"] == pytest.approx(expected[0], abs=1e-5)
        assert values["likelihood/nats_per_token_standard_error"] == pytest.approx(expected[1], abs=1e-5)
        assert values["likelihood/entropy"] == pytest.approx(floor[0])
        assert values["likelihood/entropy_standard_error"] == pytest.approx(floor[1])
        entropy = declared.quantities["likelihood/entropy"]
        assert (entropy.level_of, entropy.bounds) == ("likelihood/nats_per_token", "all")
        assert (entropy.label, entropy.unit) == ("entropy (Bayes loss)", "nats per token")
        assert declared.quantities["likelihood/nats_per_token"].comparable == "all"


def test_a_model_without_a_joint_probability_is_not_measured():
    data = make_data()
    values, declared = measured(build(MLM, vocabulary=data.vocabulary), data)
    assert values == {}
    assert "MLM neither defines nor bounds" in declared.metrics[0].not_measured


def test_a_diverged_model_has_no_likelihood():
    data = make_data()
    model = build(CLM, vocabulary=data.vocabulary)
    model.encoder.decoder_bias.data[:] = math.nan
    values, _ = measured(model, data, sentences=4)
    assert math.isnan(values["likelihood/nats_per_token"]) and values["likelihood/entropy"] > 0


class Tokenized:
    """A tokenizer that knows how long each text is: one token a letter."""

    def encode_batch(self, texts):
        return [[5 + ord(letter) % 30 for letter in text] for text in texts]


def test_sentences_of_a_text_fit_into_a_block_and_come_from_all_over_it(monkeypatch):
    data = make_data()
    texts = ["a" * (n % 40) for n in range(300)] + [f"number {n}" for n in range(50)]
    monkeypatch.setattr(data, "validation_sentences", lambda count: TextSentences(texts, Tokenized()))
    fitting = {text for text in texts if 0 < len(text) <= data.block_length - 2}
    assert len(fitting) == 14 + 50
    for count in (10, 64, 1000):
        found = validation_sentences(data, count)
        assert len(found) == min(count, 64) and len({tuple(one) for one in found}) == len(found)
        assert all(0 < len(one) <= data.block_length - 2 for one in found)
    few = validation_sentences(data, 10)
    assert few == validation_sentences(data, 64)[:10]
    assert few != [one for one in Tokenized().encode_batch(texts) if 0 < len(one) <= data.block_length - 2][:10]


def test_where_no_sentence_fits_there_is_nothing_to_measure(monkeypatch):
    data = make_data()
    monkeypatch.setattr(data, "validation_sentences", lambda count: [])
    monkeypatch.setattr(data, "sentence_nats", lambda sentences: None)
    metric = Likelihood()
    metric.prepare(data)
    with pytest.raises(NotMeasured, match="no sentence that fits"):
        metric.measure(build(CLM, vocabulary=data.vocabulary))


def test_settings_that_make_no_sense_are_refused():
    for settings in ({"sentences": 1}, {"samples": 3}, {"samples": 0}):
        with pytest.raises(ValueError, match="even number of samples"):
            Likelihood(**settings)
