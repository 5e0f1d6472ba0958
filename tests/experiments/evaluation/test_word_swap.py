"""Word swap: which pairs are made, and how they are counted."""

import math
import random
import re

import pytest

from experiments.data.evaluation_inputs import TextSentences
from experiments.evaluation import word_swap
from experiments.evaluation.word_swap import pairs_of_blocks, pairs_of_text, prefer_original, swapped, word_swap_pairs
from experiments.text.tokenizer import Tokenizer
from objectives import CLM
from tests.support.known_rules import make_data
from tests.support.objectives import build
from tests.support.tiny import WORDS


def test_swapped_changes_two_neighbours():
    sentence = "in the beginning was the word"
    words, other = sentence.split(), swapped(sentence).split()
    different = [place for place in range(len(words)) if words[place] != other[place]]
    assert len(different) == 2 and different[1] == different[0] + 1
    assert sorted(words) == sorted(other)
    assert swapped(sentence) == swapped(sentence)


@pytest.mark.parametrize(
    ("sentence", "other"),
    [
        # The only neighbours behind the same gap; what stands between words stays.
        ("big  old house", None),
        ("big  old house sees", "big  old sees house"),
        ("big  old  house\tsees", "big  house  old\tsees"),
        ("a\tb\tc d", "a\tc\tb d"),
        ("The cat sat.", "The sat cat."),
        ("And God said, Let us go", "And said God, Let us go|And God said, Let go us"),
        ("It cost 5% more!", "It 5% cost more!|It cost more 5%!"),
        ("“Who,” said (the) old man", None),
        ("- one - two - three", "- one - three - two"),
        # A Chinese character is a word, whatever the language of the corpus; marks and Latin words stay.
        ("我们去。好", "我去们。好"),
        ("用 GPT 模型", "用 模 GPT型"),
        ("हम घर चले", "हम चले घर"),
    ],
)
def test_what_stands_between_words_stays(sentence, other):
    assert (swapped(sentence) is None) if other is None else (swapped(sentence) in other.split("|"))


def test_swapped_by_character_in_chinese():
    other = swapped("我今天去北京")
    assert sorted(other) == sorted("我今天去北京") and other != "我今天去北京" and other[0] == "我"


@pytest.mark.parametrize("sentence", ["", "word", "two words", "so so so so", "...", "x, y, -"])
def test_nothing_to_swap(sentence):
    assert swapped(sentence) is None


def doubled_blanks(count=400):
    """Lines of random words whose first blank is doubled, as in tables that are read as text."""
    draw = random.Random(0)
    lines = (" ".join(draw.choices(WORDS, k=draw.randint(6, 12))) for _ in range(count))
    return [line.replace(" ", "  ", 1) + "." for line in lines]


@pytest.mark.parametrize("size", [300, 500])
def test_who_knows_nothing_but_the_gaps_prefers_neither(monkeypatch, size):
    """Only the order of the words is different, so a reader of all else ties in every pair."""
    texts = doubled_blanks()
    tokenizer = Tokenizer.train("bpe", size, texts)
    pairs = pairs_of_text(TextSentences(texts, tokenizer), 400, longest=100)
    assert len(pairs) > 300
    for ids in pairs:
        original, changed = map(tokenizer.decode, ids)
        assert re.findall(r"\W+", original) == re.findall(r"\W+", changed)
        assert sorted(re.findall(r"\w+", original)) == sorted(re.findall(r"\w+", changed))
        assert sorted(ids[0]) == sorted(ids[1])

    def by_gaps(model, sentences, method):
        return [[-float(len(gap)) for gap in re.findall(r"\W+", tokenizer.decode(ids))] for ids in sentences]

    monkeypatch.setattr(word_swap, "score_sentences", by_gaps)
    found = prefer_original(build(CLM), pairs)
    assert (found["accuracy"], found["ties"]) == (0.5, 1.0)


def test_pairs_are_bounded_distinct_and_the_same_each_time():
    tokenizer = Tokenizer.train("character", 100, ["abcdefghij "])
    sentences = [f"{a} {b} {c}" for a in "abcde" for b in "abcde" for c in "fghij"] + ["a b f", "ab cd " * 40]

    def pairs(texts, count):
        return pairs_of_text(TextSentences(texts, tokenizer), count, longest=10)

    found = pairs(sentences, 20)
    assert len(found) == 20
    assert all(original != changed and len(original) <= 10 for original, changed in found)
    assert len({tuple(original) for original, _ in found}) == 20
    assert found == pairs(sorted(sentences, reverse=True), 20)
    everything = pairs(sentences, 1000)
    assert all(len(original) <= 10 for original, _ in everything) and len(everything) < 1000


def test_blocks_are_swapped_at_the_first_difference_from_the_middle_on():
    pairs = pairs_of_blocks([[5, 6, 7, 8], [5, 6, 7, 7], [6, 6, 5, 5], [6, 6, 6, 6]], longest=4)
    assert pairs == [([5, 6, 7, 8], [5, 6, 8, 7]), ([5, 6, 7, 7], [6, 5, 7, 7]), ([6, 6, 5, 5], [6, 5, 6, 5])]


def test_generated_pairs_are_validation_blocks():
    data = make_data()
    (batch,) = make_data(batch_size=10, validation_blocks=10).validation_batches()
    pairs = word_swap_pairs(data, 10, longest=14)
    assert pairs and all(original in batch.tokens_BT[:, 1:-1].tolist() for original, _ in pairs)
    for original, changed in pairs:
        places = [place for place in range(14) if original[place] != changed[place]]
        assert len(places) == 2 and places[1] == places[0] + 1
        assert sorted(original) == sorted(changed)


def test_blocks_that_are_too_long_are_refused():
    with pytest.raises(ValueError, match="longest_sentence"):
        word_swap_pairs(make_data(), 3, longest=10)


def scores(monkeypatch, *values):
    monkeypatch.setattr(word_swap, "score_sentences", lambda model, sentences, method: list(values))
    return prefer_original(build(CLM), [([5], [6])] * (len(values) // 2))


def test_ties_count_half(monkeypatch):
    result = scores(monkeypatch, [-1.0], [-2.0], [-3.0], [-1.0, -1.0], [-2.0], [-2.0])
    # Of 1, 0, ½ and the four that are added: the standard error of a mean of 0.5 over seven.
    error = (7 / 6 * (2 * 0.25 + 4 * 0.25)) ** 0.5 / 7
    assert result == pytest.approx({"accuracy": 1.5 / 3, "accuracy_standard_error": error, "ties": 1 / 3})


def test_a_diverged_model_prefers_nothing(monkeypatch):
    assert all(math.isnan(value) for value in scores(monkeypatch, [float("nan")], [float("nan")]).values())
