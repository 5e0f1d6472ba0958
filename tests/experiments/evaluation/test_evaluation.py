"""The yardsticks: probes, real-versus-scrambled, and the losses at fixed masks."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from experiments.corpora import Example, LabelledTask, LocalText
from experiments.data import TextData
from experiments.data.encoded import EncodedTask, EncodedText, encode_task
from experiments.evaluation.evaluation import Evaluation, EvaluationConfig
from experiments.evaluation.linear_probe import linear_probe
from experiments.evaluation.word_swap import prefer_original, swapped, word_swap_pairs
from experiments.text.tokenizer import Tokenizer, TokenizerConfig
from experiments.training.callbacks import snapshot_steps
from objectives import CLM, MLM, Corruption
from tests.support.objectives import build
from tests.support.tiny import write_text


def test_swapped_changes_two_neighbours():
    sentence = "in the beginning was the word"
    words, other = sentence.split(), swapped(sentence, "en").split()
    different = [place for place in range(len(words)) if words[place] != other[place]]
    assert len(different) == 2 and different[1] == different[0] + 1
    assert sorted(words) == sorted(other)
    assert swapped(sentence, "en") == swapped(sentence, "en")


def test_swapped_by_character_in_chinese():
    other = swapped("我今天去北京", "zh")
    assert sorted(other) == sorted("我今天去北京") and other != "我今天去北京"
    assert " " not in other


@pytest.mark.parametrize("sentence", ["", "word", "so so so"])
def test_nothing_to_swap(sentence):
    assert swapped(sentence, None) is None


def test_pairs_are_bounded_distinct_and_the_same_each_time():
    tokenizer = Tokenizer.train("character", 100, ["abcdefghij "])
    sentences = [f"{a} {b} {c}" for a in "abcde" for b in "abcde" for c in "fghij"] + ["a b f", "ab " * 40]
    pairs = word_swap_pairs(sentences, None, tokenizer, 20, longest=10)
    assert len(pairs) == 20
    assert all(real != scrambled and len(real) <= 10 for real, scrambled in pairs)
    assert len({tuple(real) for real, _ in pairs}) == 20
    assert pairs == word_swap_pairs(sorted(sentences, reverse=True), None, tokenizer, 20, longest=10)
    everything = word_swap_pairs(sentences, None, tokenizer, 1000, longest=10)
    assert all(len(real) <= 10 for real, _ in everything) and len(everything) < 1000


def test_ties_count_half():
    scores = iter([[-1.0], [-2.0], [-3.0], [-1.0, -1.0], [-2.0], [-2.0]])
    objective = SimpleNamespace(score=lambda sentences: [next(scores) for _ in sentences])
    result = prefer_original(objective, [([1], [2])] * 3)
    assert result == {"accuracy": 1.5 / 3, "ties": 1 / 3}


def test_a_diverged_model_prefers_nothing():
    objective = SimpleNamespace(score=lambda sentences: [[float("nan")] for _ in sentences])
    assert all(math.isnan(value) for value in prefer_original(objective, [([1], [2])]).values())


def test_a_probe_finds_what_the_features_show():
    """Texts of one of two letters: the features of a random encoder tell them apart; random labels it cannot learn."""
    draw = np.random.default_rng(0)
    texts = [
        [5 + int(kind)] * int(length)
        for kind, length in zip(draw.integers(0, 2, 300), draw.integers(1, 9, 300), strict=True)
    ]
    honest = [EncodedText(text, "ab"[text[0] - 5]) for text in texts]
    random = [EncodedText(text, "ab"[label]) for text, label in zip(texts, draw.integers(0, 2, 300), strict=True)]
    objective = build(MLM)
    result = linear_probe(objective, EncodedTask("t", "sequence", honest[:200], honest[200:]))
    assert result["accuracy"] == result["f1"] == 1.0
    assert 0.4 < result["majority"] < 0.65
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


def test_probe_labels_follow_the_tokens():
    tokenizer = Tokenizer.train("bpe", 400, ["the cat sat on the mat " * 50])
    text = "the cat sat"
    labels = tuple("A" * 4 + "B" * 7)
    encoded = encode_task(LabelledTask("p", "token", [Example(text, labels)], [Example(text, labels)]), tokenizer, 100)
    (example,) = encoded.train
    assert len(example.label) == len(example.ids)
    ids, offsets, _ = tokenizer.encode(text)
    assert example.ids == ids and example.label == tuple(labels[start] for start, _ in offsets)
    cut = encode_task(LabelledTask("p", "sequence", [Example(text, "x")], []), tokenizer, 2)
    assert len(cut.train[0].ids) == 2


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    corpus = LocalText(str(write_text(folder / "text.txt")), validation=0.2)
    data = TextData(corpus, TokenizerConfig("bpe", 300), 16, 4, validation_blocks=8, root=str(folder / "packed"))
    data.prepare_data()
    return data


def objective_for(data, cls, **changes):
    return build(cls, vocabulary=data.vocabulary, **changes)


def test_evaluation_asks_every_run_the_same_and_draws_nothing(data):
    evaluate = Evaluation(data, EvaluationConfig(mask_rates=(0.15, 0.3), word_swap_pairs=5))
    model = objective_for(data, MLM)
    state = torch.get_rng_state()
    first = evaluate(model)
    assert torch.equal(torch.get_rng_state(), state)
    assert evaluate(model) == first
    assert first["validation/loss"] == pytest.approx(first["validation/loss@0.15"], rel=1e-6)
    model.seed = 99  # another run's seed does not change the question
    assert evaluate(model) == first
    assert {"validation/loss@0.15", "validation/loss@0.3", "word_swap/accuracy"} <= first.keys()


def test_common_rates_do_not_depend_on_the_runs_own_corruption(data):
    evaluate = Evaluation(data, EvaluationConfig(word_swap_pairs=0))
    own = {rate: evaluate(objective_for(data, MLM, corruption=Corruption(rate, 1, 0, 0))) for rate in (0.2, 0.6)}
    assert own[0.2]["validation/loss@0.3"] == own[0.6]["validation/loss@0.3"]
    assert own[0.2]["validation/loss"] != own[0.6]["validation/loss"]
    assert own[0.2]["validation/density"] < own[0.6]["validation/density"]


def test_causal_runs_have_no_mask_rates(data):
    values = Evaluation(data, EvaluationConfig(word_swap_pairs=0))(objective_for(data, CLM))
    assert not any("@" in name for name in values)
    assert values["validation/density"] > 0.8


@pytest.mark.parametrize("change", [{"mask_rates": (1.5,)}, {"snapshots": 0}, {"word_swap_pairs": -1}])
def test_bad_evaluations_are_refused(change):
    with pytest.raises(ValueError):
        EvaluationConfig(**change)


def test_snapshots_are_log_spaced_and_end_at_the_budget():
    assert snapshot_steps(64_000, 100, 4) == [10, 40, 160, 640]
    assert snapshot_steps(64_000, 100, 1) == [640]
    assert snapshot_steps(1_000, 300, 5) == [1, 4]
    assert snapshot_steps(1_000, 100, 3, first=500) == [5, 7, 10]
