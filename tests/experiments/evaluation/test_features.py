"""What is read of a frozen encoder: by one forward pass for each text."""

import numpy as np
import pytest
import torch

from experiments.data.evaluation_inputs import EncodedTask, EncodedText
from experiments.evaluation import LinearProbe, NotMeasured, UntrainedEncoder
from experiments.evaluation.evaluation import metric_record
from experiments.evaluation.features import features, whole_text
from experiments.evaluation.linear_probe import linear_probe, task_features
from objectives import CLM, MLM, EncoderConfig
from tests.support.known_rules import make_data
from tests.support.objectives import VOCABULARY, build

DEEP = EncoderConfig(width=16, depth=4, heads=2, max_length=64)


def some_texts(count=12, seed=0):
    draw = np.random.default_rng(seed)
    return [draw.integers(5, 17, draw.integers(1, 20)).tolist() for _ in range(count)]


def alone(objective, ids, layers):
    """Hidden states of one text, (T, layers · D), those of the last layer last."""
    tokens = torch.tensor([[VOCABULARY.cls, *ids, VOCABULARY.sep]])
    with torch.no_grad():
        states = objective.encoder.hidden_states(tokens, objective.traits.attention, None, 4)[-layers:]
    return torch.cat(states, -1)[0].numpy()


@pytest.mark.parametrize("layers", [1, 4])
@pytest.mark.parametrize("pooling", ["mean", "first", "last"])
@pytest.mark.parametrize("cls", [CLM, MLM])
def test_features_by_one_pass_for_each_text(cls, pooling, layers):
    objective, texts = build(cls, encoder=DEEP), some_texts()
    objective.eval()
    found = features(objective, texts, [[whole_text(ids, pooling)] for ids in texts], pooling, layers)
    for row, ids in zip(found, texts, strict=True):
        states = alone(objective, ids, layers)
        expected = {"mean": states[1:-1].mean(0), "first": states[0], "last": states[-2]}[pooling]
        np.testing.assert_allclose(row, expected, atol=1e-5)
    spans = [[(1, 2), (1, len(ids) + 1)] for ids in texts]
    found = features(objective, texts, spans, pooling, layers).reshape(len(texts), 2, -1)
    for rows, ids in zip(found, texts, strict=True):
        states = alone(objective, ids, layers)[1:-1]
        np.testing.assert_allclose(rows[0], states[0], atol=1e-5)
        expected = {"mean": states.mean(0), "first": states[0], "last": states[-1]}[pooling]
        np.testing.assert_allclose(rows[1], expected, atol=1e-5)


def test_a_probe_reads_what_it_is_told():
    """The label is the last token; at its first position, a causal model has seen nothing of the text."""
    texts = some_texts(300)
    labelled = [EncodedText(ids, str(ids[-1] % 2)) for ids in texts]
    task = EncodedTask("t", "sequence", labelled[:200], labelled[200:])
    objective = build(CLM, encoder=DEEP)
    found = {pooling: linear_probe(objective, task, 1, pooling)["accuracy"] for pooling in ("first", "last")}
    assert found["last"] > 0.95 and found["first"] < 0.7
    assert task_features(objective, labelled, "sequence", 4, "mean").shape == (300, 4 * 16)
    tokens = [EncodedText(ids, tuple(map(str, ids))) for ids in texts]
    assert task_features(objective, tokens, "token", 2, "mean").shape == (sum(map(len, texts)), 2 * 16)


def test_a_shallow_encoder_is_not_measured_by_layers_that_it_has_not():
    texts = some_texts()
    with pytest.raises(NotMeasured, match="the last 4 layers are to be read, but the encoder has 2"):
        features(build(MLM), texts, [[(1, 2)] for _ in texts], "mean", 4)


@pytest.mark.parametrize("cls", [LinearProbe, UntrainedEncoder])
def test_a_use_that_makes_no_sense_is_refused(cls):
    for settings in ({"layers": 0}, {"pooling": "max"}):
        with pytest.raises(ValueError, match=next(iter(settings))):
            cls(**settings)


@pytest.mark.parametrize("name", ["LinearProbe", "UntrainedEncoder"])
def test_records_of_the_default_use_are_those_of_before(name):
    path = f"experiments.evaluation.{name}"
    plain = {"class_path": path, "init_args": {"layers": 1, "pooling": "mean"}}
    assert metric_record(plain, {}).identity == metric_record({"class_path": path}, {}).identity
    assert metric_record(plain, {}).init_args == {}
    other = {"class_path": path, "init_args": {"layers": 4, "pooling": "mean"}}
    assert metric_record(other, {}).init_args == {"layers": 4}


@pytest.mark.parametrize("use", [{"layers": 2}, {"layers": 2, "pooling": "first"}])
def test_metrics_use_the_encoder_as_they_are_told(monkeypatch, use):
    """Of an encoder that was not trained, the probe and its level are the same."""
    data = make_data()
    labelled = [EncodedText(ids, str(ids[0] % 2)) for ids in some_texts(60)]
    monkeypatch.setattr(data, "labelled_tasks", [EncodedTask("t", "sequence", labelled[:40], labelled[40:])])
    objective = CLM(**vars(build(CLM, encoder=DEEP).shared))
    probe, untrained = LinearProbe(**use), UntrainedEncoder(**use)
    for metric in (probe, untrained):
        metric.prepare(data)
    found = probe.measure(objective)
    expected = linear_probe(objective, data.labelled_tasks[0], use["layers"], use.get("pooling", "mean"))
    assert found == {f"probe/t/{name}": value for name, value in expected.items()}
    assert untrained.measure(objective) == {f"probe/t/untrained_{name}": value for name, value in expected.items()}
    (description,) = {one.description for one in probe.quantities() if one.better}
    assert "in the last 2 layers" in description and ("at the [CLS]" in description) == ("pooling" in use)
