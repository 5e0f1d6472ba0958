"""What a tokenizer gives back of validation documents: measured, recorded, and said when the data is packed."""

from __future__ import annotations

import pytest
from tokenizers import normalizers, pre_tokenizers

from experiments.corpora import LocalText
from experiments.text import round_trip
from experiments.text.packing import pack
from experiments.text.round_trip import RoundTrip, measure_round_trip
from experiments.text.tokenizer import Tokenizer, TokenizerConfig
from tests.support.tokenizers import TEXTS, bpe, characters

DOCUMENTS = ["the cat", "the  cat", "the\tcat ", "the ü cat"]


@pytest.mark.parametrize(
    ("tokenizer", "exact", "unspelled"),
    [
        (Tokenizer.train("bpe", 300, TEXTS), 4, 0),
        (Tokenizer.train("character", 40, ["".join(DOCUMENTS[:3])]), 3, 1),
        (Tokenizer.train("wordpiece", 600, TEXTS), 1, 1),
        (Tokenizer(bpe(byte_level=False)), 1, 1),
        (Tokenizer(characters("theca \tü", normalizers.Replace("ü", ""))), 3, 1),
        (Tokenizer(characters("theca \tü", pre_tokenizer=pre_tokenizers.Punctuation("removed"))), 4, 0),
    ],
    ids=["bpe", "character", "wordpiece", "BPE without unk", "stripped", "nothing to strip"],
)
def test_documents_that_come_back_and_characters_without_a_token(tokenizer, exact, unspelled):
    measured = measure_round_trip(tokenizer, iter(DOCUMENTS))
    assert measured == RoundTrip(4, exact, 25, unspelled) and measured.share == exact / 4


def test_only_the_first_documents_are_tried(monkeypatch):
    tokenizer = Tokenizer.train("bpe", 300, TEXTS)
    monkeypatch.setattr(round_trip, "MOST_DOCUMENTS", 2)
    assert measure_round_trip(tokenizer, iter(DOCUMENTS)).documents == 2
    monkeypatch.setattr(round_trip, "MOST_CHARACTERS", 4)
    assert measure_round_trip(tokenizer, iter(DOCUMENTS)) == RoundTrip(1, 1, 3, 0)
    assert measure_round_trip(tokenizer, iter([])) is None


@pytest.mark.parametrize("kind", ["bpe", "wordpiece"])
def test_it_is_recorded_with_the_packed_data_and_said_once(kind, tmp_path, capsys):
    path = tmp_path / "text.txt"
    path.write_text("".join(f"the{' ' * (1 + number % 2)}cat {number}\n" for number in range(800)))
    corpus = LocalText(str(path), validation=0.2)
    packed = pack(corpus, TokenizerConfig(kind, 600), 16, tmp_path)
    documents = list(corpus.documents("validation"))
    exact = sum(kind == "bpe" or "  " not in text for text in documents)
    visible = sum(len(text.replace(" ", "")) for text in documents)
    assert packed.round_trip == RoundTrip(len(documents), exact, visible, 0)
    assert packed.manifest["round_trip"]["exact"] == exact and (exact == len(documents)) == (kind == "bpe")
    said = f"the tokenizer gives back {exact} of {len(documents)} validation documents exactly"
    assert capsys.readouterr().err.count(said) == 1
    pack(corpus, TokenizerConfig(kind, 600), 16, tmp_path)
    assert capsys.readouterr().err == ""


def test_the_words_for_it():
    assert str(RoundTrip(4, 4, 20, 0)) == "the tokenizer gives back 4 of 4 validation documents exactly"
    assert str(RoundTrip(8, 1, 1000, 5)) == (
        "the tokenizer gives back 1 of 8 validation documents exactly (12.5 %): the others lose white space, case or "
        "accents, or characters without a token (0.5 % of the visible ones)"
    )
