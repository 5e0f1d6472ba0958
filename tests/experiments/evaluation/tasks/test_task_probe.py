"""A task from its file to its scores: what can be learned is, what cannot is not, and what is wrong is said."""

import random

import numpy as np
import pytest
import torch

from experiments.evaluation import NotMeasured, TaskProbe
from experiments.evaluation.features import features, whole_text
from objectives import CLM, MLM, EncoderConfig
from tests.support.known_rules import make_data
from tests.support.objectives import build
from tests.support.tiny import WORDS

OURS = ("accuracy", "macro_f1", "mcc")


def objective_for(data, cls=MLM, **changes):
    return build(cls, vocabulary=data.vocabulary, **changes)


def sentences(count, seed=0):
    draw = random.Random(seed)
    return [" ".join(draw.choices(WORDS, k=draw.randint(3, 9))) for _ in range(2 * count)][:count]


def write(path, rows):
    path.write_text("text\tlabel\n" + "".join(f"{text}\t{label}\n" for text, label in rows))
    return str(path)


def halves(folder, rows):
    """Files of different texts, the first half and the second."""
    rows = list(dict(rows).items())
    half = len(rows) // 2
    return {"train": write(folder / "a.tsv", rows[:half]), "test": write(folder / "b.tsv", rows[half:])}


def measured(data, objective, **settings):
    metric = TaskProbe(**{"task": "t", "kind": "sequence", **settings})
    metric.prepare(data)
    return metric, metric.measure(objective)


def has_cat(text):
    return "yes" if "cat" in text.split() else "no"


def test_a_task_that_the_tokens_give_away(tmp_path, data):
    parts = halves(tmp_path, [(text, has_cat(text)) for text in sentences(600)])
    metric, found = measured(data, objective_for(data), **parts)
    assert found["task/t/accuracy"] > 0.9 and found["task/t/bag_of_tokens_accuracy"] > 0.9
    assert found["task/t/mcc"] > 0.7 and found["task/t/majority_mcc"] == 0
    test = [line.split("\t")[1] for line in (tmp_path / "b.tsv").read_text().splitlines()[1:]]
    assert found["task/t/majority_accuracy"] == pytest.approx(test.count("no") / len(test))
    assert metric.measure(objective_for(data)) == found  # bit for bit


def test_labels_that_are_shuffled_cannot_be_learned(tmp_path, data):
    texts, draw = sentences(600), random.Random(1)
    parts = halves(tmp_path, [(text, draw.choice("ab")) for text in texts])
    for cls in (CLM, MLM):
        _, found = measured(data, objective_for(data, cls), **parts)
        for level in ("", "bag_of_tokens_"):
            error = found[f"task/t/{level}mcc_standard_error"]
            assert abs(found[f"task/t/{level}mcc"]) < 4 * error and error < 0.1


def test_random_weights_tell_what_stands_there_and_little_of_its_order(tmp_path, data):
    """Which of two words comes first cannot be told from counts."""
    draw, rows = random.Random(4), {}
    for text in sentences(400):
        words = [word for word in text.split() if word not in ("cat", "dog")]
        first, second = sorted(draw.sample(range(len(words) + 2), 2))
        order = draw.sample(["cat", "dog"], 2)
        words[first:first], words[second:second] = order[:1], order[1:]
        rows[" ".join(words)] = order[0]
    _, found = measured(data, objective_for(data), **halves(tmp_path, rows))
    assert abs(found["task/t/bag_of_tokens_mcc"]) < 4 * found["task/t/bag_of_tokens_mcc_standard_error"]
    assert found["task/t/mcc"] < 0.6


@pytest.mark.parametrize("pooling", ["mean", "first", "last"])
def test_pairs(tmp_path, data, pooling):
    """Whether both texts end with the same word: the product of their features tells, one text alone does not."""
    draw, words = random.Random(2), WORDS[:4]
    rows = [(f"{' '.join(draw.choices(WORDS, k=3))} {n}", draw.choice(words), draw.choice(words)) for n in range(800)]
    lines = [f"{one} {a}\t{other} {b}\t{a == b}\n" for (one, a, b), (other, *_) in zip(rows, rows[::-1], strict=True)]
    files = {"train": lines[:500], "test": lines[500:]}
    for name, some in files.items():
        (tmp_path / f"{name}.tsv").write_text("text\tsecond\tlabel\n" + "".join(some))
        files[name] = str(tmp_path / f"{name}.tsv")
    _, found = measured(data, objective_for(data), kind="pair", second_text="second", pooling=pooling, **files)
    assert set(found) == {
        f"task/t/{level}{score}{error}"
        for level in ("", "majority_", "bag_of_tokens_")
        for score in OURS
        for error in ("", "_standard_error")
    }
    if pooling == "last":
        assert found["task/t/mcc"] > 0.5 > found["task/t/bag_of_tokens_mcc"]


def test_features_of_a_pair_are_both_their_difference_and_their_product(tmp_path, data):
    texts, objective = sentences(6), objective_for(data)
    for name, some in (("a", texts[:4]), ("b", texts[4:])):
        pairs = zip(some[::2], some[1::2], "xy", strict=False)
        lines = "".join(f"{one}\t{other}\t{label}\n" for one, other, label in pairs)
        (tmp_path / f"{name}.tsv").write_text(f"text\tsecond\tlabel\n{lines}")
    files = {"train": str(tmp_path / "a.tsv"), "test": str(tmp_path / "b.tsv")}
    metric, _ = measured(data, objective, kind="pair", second_text="second", **files)
    ids = [data.tokenizer.encode(text).ids for text in texts[:4]]
    u, v = features(objective, ids, [[whole_text(one, "mean")] for one in ids], "mean").reshape(2, 2, -1).swapaxes(0, 1)
    expected = np.concatenate([u, v, np.abs(u - v), u * v], axis=1)
    np.testing.assert_allclose(metric._features(objective, metric.items["train"]), expected, rtol=1e-6)
    a, b = (
        np.array([[one.count(n) for n in range(data.vocabulary.size)] for one in ids]).reshape(2, 2, -1).swapaxes(0, 1)
    )
    expected = np.concatenate([a, b, np.abs(a - b), a * b], axis=1)
    np.testing.assert_array_equal(metric._counts(metric.items["train"]).toarray(), expected)


def tagged(folder, data_seed=0, count=300):
    """CoNLL files in which "cat" begins an entity, and "dog" goes on with one, often with none that has begun."""
    parts = {}
    texts = sentences(2 * count, data_seed)
    for name, some in (("train", texts[:count]), ("test", [one for one in texts[count:] if one not in texts[:count]])):
        lines = []
        for text in some:
            words = text.split()
            tags = [{"cat": "B-C", "dog": "I-C"}.get(word, "O") for word in words]
            lines += [*(f"{word} {tag}" for word, tag in zip(words, tags, strict=True)), ""]
        (folder / f"{name}.conll").write_text("\n".join(lines))
        parts[name] = str(folder / f"{name}.conll")
    return parts


@pytest.mark.parametrize("pooling", [None, "mean", "last"])
def test_tags(tmp_path, data, pooling):
    parts = tagged(tmp_path)
    metric, found = measured(data, objective_for(data), kind="tags", pooling=pooling, **parts)
    assert min(found["task/t/entity_f1"], found["task/t/bag_of_tokens_entity_f1"]) > 0.95
    assert found["task/t/majority_entity_f1"] == 0 < found["task/t/majority_accuracy"] < found["task/t/accuracy"]
    headlines = {one.name for one in metric.quantities() if one.headline and one.better}
    assert headlines == {"task/t/entity_f1"}


def test_words_beyond_a_block_count_as_outside_an_entity(tmp_path, data):
    parts = tagged(tmp_path)
    _, found = measured(data, objective_for(data), kind="tags", **parts)
    words = " ".join(["the"] * 60).split()
    with open(parts["test"], "a") as file:
        file.write("\n" + "".join(f"{word} B-C\n" for word in words))
    metric, longer = measured(data, objective_for(data), kind="tags", **parts)
    (lost,) = [one.cut for name, one in metric.items.items() if name == "test"]
    items, known = metric.items["test"], len(metric.items["test"].placed) - 60
    assert lost == 1 and 10 < sum(items.placed[known:]) < 60
    named = found["task/t/accuracy"] * known
    assert named <= longer["task/t/accuracy"] * (known + 60) < named + sum(items.placed[known:]) + 1
    assert 'test words without a token count as named "O"' in metric.quantities()[0].description


def test_a_validation_part_chooses_the_penalty(tmp_path, data):
    """Labels of noise beside one word: the weakest penalty learns the noise by heart."""
    draw = random.Random(3)
    rows = list(
        {text: has_cat(text) if draw.random() < 0.7 else draw.choice(["yes", "no"]) for text in sentences(500)}.items()
    )
    files = {
        "train": write(tmp_path / "a.tsv", rows[:60]),
        "validation": write(tmp_path / "v.tsv", rows[60:260]),
        "test": write(tmp_path / "b.tsv", rows[260:]),
    }
    metric, found = measured(data, objective_for(data), **files)
    fitted = {}

    class Constant:
        """Names of each part what it is told by its strength."""

        def __init__(self, c):
            self.c = c

        def fit(self, inputs, labels):
            return self

        def predict(self, inputs):
            right = metric.items["validation"].labels
            fitted[self.c] = fitted.get(self.c, 0) + 1
            share = {0.01: 10, 0.1: 150, 1.0: 150, 10.0: 80}[self.c]
            return (
                [one if n < share else "neither" for n, one in enumerate(right)]
                if inputs == "v"
                else [str(self.c)] * inputs
            )

    inputs = {"train": None, "validation": "v", "test": len(metric.items["test"].placed)}
    assert set(metric._predicted(inputs, Constant)) == {"0.1"}
    assert found.keys() == {one.name for one in metric.quantities()}


@pytest.mark.parametrize(
    ("train", "test", "message"),
    [
        ([("a cat", "x"), ("a dog", "x")], [("the cat", "x")], 'train has one class alone, "x"'),
        ([("a cat", "x"), ("a dog", "y")], [], "test .*b.tsv.* has no text with a token"),
        ([], [("a cat", "x")], "train .*a.tsv.* has no text with a token"),
        ([("a cat", "x"), ("a dog", "y")], [("the cat", "-1")], r"no label of test \(-1\) is one of train \(x, y\)"),
        (
            [("a cat", "x"), ("a dog", "y")],
            [("a dog", "y")],
            "1 of the 2 texts of train are in test too, such as 'a dog'",
        ),
    ],
)
def test_a_task_that_cannot_be_is_refused(tmp_path, data, train, test, message):
    files = {"train": write(tmp_path / "a.tsv", train), "test": write(tmp_path / "b.tsv", test)}
    with pytest.raises(ValueError, match=f"the task t: {message}"):
        TaskProbe("t", "sequence", **files).prepare(data)


def test_what_was_trained_on_is_refused_or_left_out(tmp_path, data):
    document = next(iter(data.corpus.documents("train")))
    held = next(iter(data.corpus.documents("validation")))
    rows = [(text, has_cat(text)) for text in dict.fromkeys(sentences(60))]
    files = {
        "train": write(tmp_path / "a.tsv", rows[:30]),
        "test": write(tmp_path / "b.tsv", [*rows[30:], (document, "yes"), (held, "no")]),
    }
    with pytest.raises(ValueError, match=r"the task t: 1 of the \d+ texts of test are in the pretraining text too"):
        TaskProbe("t", "sequence", **files).prepare(data)
    metric, _ = measured(data, objective_for(data), overlap="drop", **files)
    assert len(metric.items["test"].placed) == len(rows) - 30 + 1
    assert (
        "1 texts of test are left out because they are in the pretraining text too"
        in metric.quantities()[0].description
    )


def test_labels_that_train_has_not_count_as_wrong_and_texts_without_tokens_as_the_majority(tmp_path, data):
    rows = [(text, has_cat(text)) for text in dict.fromkeys(sentences(200))]
    test = [*rows[100:], ("a young dog near it", "new"), ("", "no"), ("", "newer")]
    files = {"train": write(tmp_path / "a.tsv", rows[:100]), "test": write(tmp_path / "b.tsv", test)}
    metric, found = measured(data, objective_for(data), **files)
    assert metric.unseen == 2 and metric.items["test"].placed[-3:] == [True, False, False]
    named = metric._predicted(
        {"train": np.zeros((100, 1)), "test": np.zeros((len(test) - 2, 1))}, lambda c: Always("yes")
    )
    assert named == ["yes"] * (len(test) - 2) + ["no"] * 2
    assert found["task/t/majority_accuracy"] == pytest.approx([label for _, label in test].count("no") / len(test))


class Always:
    def __init__(self, label):
        self.label = label

    def fit(self, inputs, labels):
        return self

    def predict(self, inputs):
        return [self.label] * len(inputs)


def test_several_layers_and_a_shallow_encoder(tmp_path, data):
    parts = halves(tmp_path, [(text, has_cat(text)) for text in sentences(200)])
    metric = TaskProbe("t", "sequence", layers=4, **parts)
    metric.prepare(data)
    with pytest.raises(NotMeasured, match="the encoder has 2"):
        metric.measure(objective_for(data))
    deep = objective_for(data, encoder=EncoderConfig(width=16, depth=4, heads=2, max_length=64))
    assert 0 <= metric.measure(deep)["task/t/accuracy"] <= 1


def test_no_random_numbers_are_drawn(tmp_path, data):
    parts = halves(tmp_path, [(text, has_cat(text)) for text in sentences(200)])
    states = torch.get_rng_state(), np.random.get_state()[1].tolist()
    measured(data, objective_for(data).requires_grad_(False), **parts)
    assert np.random.get_state()[1].tolist() == states[1]


def test_generated_data_have_no_text(tmp_path):
    generated = make_data()
    metric = TaskProbe("t", "sequence", **halves(tmp_path, [(text, has_cat(text)) for text in sentences(20)]))
    metric.prepare(generated)
    assert metric.quantities() == []
    with pytest.raises(NotMeasured, match="no text"):
        metric.measure(build(MLM, vocabulary=generated.vocabulary))


def test_what_is_measured_is_declared_with_its_baselines(tmp_path, data):
    parts = halves(tmp_path, [(text, has_cat(text)) for text in sentences(200)])
    metric, found = measured(data, objective_for(data), **parts)
    declared = {one.name: one for one in metric.quantities()}
    assert declared.keys() == found.keys()
    for score in OURS:
        levels = [one.name for one in declared.values() if one.level_of == f"task/t/{score}"]
        assert levels == [f"task/t/majority_{score}", f"task/t/bag_of_tokens_{score}"]
    for one in declared.values():
        assert bool(one.standard_error) == (not one.name.endswith("_standard_error"))
        assert one.comparable == ("all" if one.better else "")
    assert [one.name for one in declared.values() if one.headline and one.better] == ["task/t/accuracy"]


@pytest.mark.parametrize("settings", [{"pooling": "max"}, {"layers": 0}, {"overlap": "keep"}, {"kind": "text"}])
def test_settings_that_make_no_sense_are_refused(settings):
    (name,) = settings
    with pytest.raises(ValueError, match=name):
        TaskProbe(**{"task": "t", "kind": "sequence", "train": "a.tsv", "test": "b.tsv", **settings})
