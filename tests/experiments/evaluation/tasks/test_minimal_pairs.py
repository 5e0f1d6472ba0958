"""Minimal pairs as a task, by the scores of each sentence."""

import json
import math

import numpy as np
import pytest

from experiments.evaluation import MinimalPairs, NotMeasured
from experiments.evaluation.standard_errors import share
from experiments.evaluation.tasks.minimal_pairs import mean_over_groups
from objectives import CLM, MLM
from tests.support.known_rules import make_data
from tests.support.objectives import build, own_scores

PAIRS = [
    ("the old cat sees the bird", "the old cat see the bird", "agreement"),
    ("a tree likes the house", "a trees likes the house", "agreement"),
    ("the river", "the river", "agreement"),
    ("the young bird", "young the bird", "order"),
    ("near the river", "the river near", "order"),
]


def write(folder, pairs, name="pairs.jsonl"):
    keys = ("sentence_good", "sentence_bad", "UID")
    path = folder / name
    path.write_text("".join(json.dumps(dict(zip(keys, pair, strict=True))) + "\n" for pair in pairs))
    return str(path)


def prepared(data, path, **settings):
    metric = MinimalPairs("blimp", path, **settings)
    metric.prepare(data)
    return metric


@pytest.mark.parametrize("cls", [CLM, MLM])
def test_accuracies_by_the_scores_of_each_sentence(tmp_path, data, cls):
    metric, objective = prepared(data, write(tmp_path, PAIRS)), build(cls, vocabulary=data.vocabulary)
    found = metric.measure(objective)
    outcomes = {"agreement": [], "order": []}
    shorter = {"agreement": [], "order": []}
    for good, bad, group in PAIRS:
        ids = [data.tokenizer.encode(one).ids for one in (good, bad)]
        scores = [math.fsum(own_scores(objective, [one])[0]) for one in ids]
        outcomes[group].append(0.5 if scores[0] == scores[1] else float(scores[0] > scores[1]))
        shorter[group].append(0.5 if len(ids[0]) == len(ids[1]) else float(len(ids[0]) < len(ids[1])))
    for group, members in outcomes.items():
        assert found[f"task/blimp/{group}/accuracy"] == pytest.approx(np.mean(members))
    assert found["task/blimp/accuracy"] == pytest.approx(np.mean([np.mean(one) for one in outcomes.values()]))
    assert found["task/blimp/fewer_tokens_accuracy"] == pytest.approx(
        np.mean([np.mean(one) for one in shorter.values()])
    )
    assert found["task/blimp/ties"] == sum(one.count(0.5) for one in outcomes.values()) / 5
    declared = {one.name: one for one in metric.quantities()}
    assert declared.keys() == found.keys()
    assert declared["task/blimp/fewer_tokens_accuracy"].level_of == "task/blimp/accuracy"
    assert [one.name for one in declared.values() if one.headline and one.better] == ["task/blimp/accuracy"]
    assert metric.measure(objective) == found


def test_the_mean_over_groups_varies_as_its_standard_error_says():
    draw = np.random.default_rng(0)
    drawn = [
        [(draw.random(size) < right).astype(float) for size, right in ((60, 0.9), (200, 0.6), (40, 0.5))]
        for _ in range(400)
    ]
    found = [mean_over_groups([list(group) for group in groups]) for groups in drawn]
    assert np.mean([error for _, error in found]) == pytest.approx(np.std([value for value, _ in found]), rel=0.1)
    variance = np.mean([20 / 19 * sum(part**2 for part in value.parts) for value, _ in found])
    assert variance == pytest.approx(np.var([value for value, _ in found]), rel=0.2)
    outcomes = [1.0, 0.0, 0.5, 1.0]
    assert mean_over_groups([outcomes]) == pytest.approx(share(outcomes, [1.0] * 4))


def test_so_many_pairs_of_each_group_other_names_and_several_files(tmp_path, data):
    write(tmp_path, PAIRS[:3], "a.jsonl"), write(tmp_path, PAIRS[3:], "b.jsonl")
    metric = prepared(data, str(tmp_path / "*.jsonl"), pairs=2)
    assert {group: len(pairs) for group, pairs in metric.pairs.items()} == {"agreement": 2, "order": 2}
    (tmp_path / "c.tsv").write_text("yes\tno\tkind\nthe cat\tcat the\t1\n")
    metric = prepared(data, str(tmp_path / "c.tsv"), good="yes", bad="no", group="kind")
    assert metric.pairs == {"1": [tuple(data.tokenizer.encode(one).ids for one in ("the cat", "cat the"))]}


@pytest.mark.parametrize(
    ("pair", "message"),
    [
        (("the cat", "", "x"), "'the cat' and '' have"),
        (("the cat " * 40, "the cat", "x"), "a block has room for 30; leave the pair out"),
        (("the cat", "cat the", None), "row 6 of .* has no label"),
        (("the cat", None, "x"), "have"),
    ],
)
def test_a_pair_that_cannot_be_scored_is_named(tmp_path, data, pair, message):
    with pytest.raises(ValueError, match=f"the task blimp: .*{message}"):
        prepared(data, write(tmp_path, [*PAIRS, pair]))


def test_files_without_pairs_and_what_was_trained_on(tmp_path, data):
    with pytest.raises(ValueError, match="has no pairs"):
        prepared(data, write(tmp_path, []))
    document = next(iter(data.corpus.documents("train")))
    path = write(tmp_path, [*PAIRS, (document, "the cat", "x")])
    with pytest.raises(ValueError, match="1 of the 6 texts of test are in the pretraining text"):
        prepared(data, path)
    assert set(prepared(data, path, overlap="drop").pairs) == {"agreement", "order"}


def test_a_diverged_model_prefers_nothing(tmp_path, data):
    metric, objective = prepared(data, write(tmp_path, PAIRS)), build(MLM, vocabulary=data.vocabulary)
    with np.errstate(all="ignore"):
        objective.encoder.decoder_bias.data.fill_(math.nan)
        found = metric.measure(objective)
    assert found.keys() == {one.name for one in metric.quantities()}
    known = {name for name, value in found.items() if not math.isnan(value)}
    assert known == {"task/blimp/fewer_tokens_accuracy", "task/blimp/fewer_tokens_accuracy_standard_error"}


def test_generated_data_have_no_text(tmp_path):
    generated = make_data()
    metric = prepared(generated, write(tmp_path, PAIRS))
    assert metric.quantities() == []
    with pytest.raises(NotMeasured, match="no text"):
        metric.measure(build(MLM, vocabulary=generated.vocabulary))
