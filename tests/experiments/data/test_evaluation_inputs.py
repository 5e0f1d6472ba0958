"""Labelled tasks in token ids."""

from experiments.corpora import Example, LabelledTask
from experiments.data.evaluation_inputs import encode_task
from experiments.text.tokenizer import Tokenizer


def test_labels_follow_the_tokens():
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
