"""Words are aligned to tokens whatever the tokenizer, by brute force over characters."""

import pytest
from tokenizers import normalizers, pre_tokenizers

from experiments.corpora.labelled import LabelledText
from experiments.corpora.tagged_words import running_text
from experiments.evaluation.tasks.items import encode_items
from experiments.text.tokenizer import Tokenizer
from tests.support.tokenizers import bpe, characters

SENTENCES = [
    ["the", "old", "cat", "sees", "the", "bird", "."],
    ["Zoë", "likes", "naïve", "trees", "😀", "!"],
    ["他", "likes", "北", "京", "。"],
    ["do", "n't", "", "go", "near"],
    ["supercalifragilistic", "a"],
]


def glue(backend):
    """A tokenizer whose tokens may go across the end of a word: it splits at nothing."""
    backend.pre_tokenizer = pre_tokenizers.Split("§", "isolated")
    return backend


def tokenizers():
    plain = [word for words in SENTENCES for word in words] * 3
    texts = [running_text(words)[0] for words in SENTENCES] * 3
    yield "bpe", Tokenizer.train("bpe", 300, plain)
    yield "bpe across words", Tokenizer(glue(bpe()))
    yield "wordpiece", Tokenizer.train("wordpiece", 512, texts)
    yield "character", Tokenizer.train("character", 60, texts)
    alphabet = "abcdefghijklmnoprstuvy "
    yield "characters lower", Tokenizer(characters(alphabet, normalizers.Lowercase(), unk_token="[UNK]"))
    yield (
        "without what it does not know",
        Tokenizer(characters(alphabet, normalizers.StripAccents(), unk_token="[UNK]")),
    )
    yield (
        "metaspace",
        Tokenizer(characters(f"▁{alphabet}", pre_tokenizer=pre_tokenizers.Metaspace(), unk_token="[UNK]")),
    )


@pytest.mark.parametrize(
    ("name", "tokenizer"), list(tokenizers()), ids=lambda value: value if isinstance(value, str) else ""
)
@pytest.mark.parametrize("longest", [100, 5])
def test_a_word_has_the_tokens_that_share_a_character_with_it(name, tokenizer, longest):
    labelled, expected = [], []
    for words in SENTENCES:
        text, spans = running_text(words)
        labelled.append(LabelledText((text,), tuple(f"tag of {word}" for word in words), tuple(spans)))
        tokens = tokenizer.encode(text).spans[:longest]
        shared = [
            [n for n, (start, end) in enumerate(tokens) if set(range(start, end)) & set(range(first, last))]
            for first, last in spans
        ]
        expected.append(shared)
    items = encode_items(labelled, tokenizer, longest)
    placed = [bool(tokens) for sentence in expected for tokens in sentence]
    assert items.placed == placed and sum(placed) > 5
    found = [list(range(start, end)) for spans in items.spans for start, end in spans]
    assert found == [tokens for sentence in expected for tokens in sentence if tokens]
    words = [word for words in SENTENCES for word in words]
    assert items.labels == [f"tag of {word}" for word, there in zip(words, placed, strict=True) if there]
    assert items.rows == [tokenizer.encode(one.texts[0]).ids[:longest] for one in labelled]
    assert items.cut == sum(len(tokenizer.encode(one.texts[0]).ids) > longest for one in labelled)
    named = [label.upper() for label in items.labels]
    every = items.with_others(named, "O")
    assert len(every) == len(placed) and [one for one, there in zip(every, placed, strict=True) if there] == named
    assert {one for one, there in zip(every, placed, strict=True) if not there} <= {"O"}


def test_texts_and_pairs_without_tokens_are_in_no_row():
    tokenizer = Tokenizer.train("wordpiece", 512, ["the old cat sees the bird"])
    texts = [LabelledText((text,), "x") for text in ("the old cat", "", "bird")]
    items = encode_items(texts, tokenizer, 2)
    assert items.placed == [True, False, True] and items.cut == 1
    assert items.rows == [tokenizer.encode("the old").ids, tokenizer.encode("bird").ids] == items.bags
    pairs = [LabelledText(both, "x") for both in (("the cat", "bird"), ("", "bird"), ("the", " "))]
    items = encode_items(pairs, tokenizer, 10)
    assert items.placed == [True, False, False]
    assert items.rows == [tokenizer.encode("the cat").ids, tokenizer.encode("bird").ids]


def test_the_bag_of_a_word_is_its_own_tokens():
    tokenizer = Tokenizer.train("character", 60, ["the old cat"])
    text, spans = running_text(["the", "cat"])
    items = encode_items([LabelledText((text,), ("a", "b"), tuple(spans))], tokenizer, 10)
    assert items.bags == [tokenizer.encode(word).ids for word in ("the", "cat")]
