"""Tokenizers of others: nothing in them is random, no text vanishes, and ids without a token are no tokens."""

from __future__ import annotations

import json

import pytest
from tokenizers import Tokenizer as Backend
from tokenizers import models, normalizers, pre_tokenizers

from experiments.text.backend import LARGEST
from experiments.text.codec import TextCodec
from experiments.text.packing import pack
from experiments.text.tokenizer import Tokenizer, TokenizerConfig
from tests.support.tokenizers import SPECIALS, TEXTS, bpe, characters

UNIGRAM = [(token, -10.0) for token in SPECIALS] + [
    (token, -2.0) for token in ("t", "h", "e", "th", "he", "the", " ", "c", "a", "t", "ca", "at", "cat")
]
ODD = "THE Zürich 中文 😀 cat"


def saved(backend, tmp_path):
    path = tmp_path / "tokenizer.json"
    backend.save(str(path))
    return path


@pytest.mark.parametrize(
    "backend",
    [
        bpe(dropout=0.3),
        bpe(byte_level=False, dropout=0.5),
        Backend(models.Unigram(UNIGRAM, 1, alpha=0.1, nbest_size=9)),
    ],
    ids=["byte-level BPE", "BPE", "Unigram"],
)
def test_a_text_always_has_the_same_tokens(backend, tmp_path):
    text = "the cat the the cat"
    assert len({tuple(backend.encode(text).ids) for _ in range(40)}) > 1  # the backend draws
    codec = TextCodec(backend, [], 1)
    reloaded = TextCodec(codec.backend, [], 1)
    expected = codec.encode(text).ids
    for _ in range(20):
        for same in (codec, reloaded):
            assert same.encode(text).ids == same.encode_batch([text])[0] == same.encodings([text])[0].ids == expected
    assert any("dropout" in change for change in codec.changes) == (backend.model.__class__.__name__ == "BPE")
    assert reloaded.changes == ()


def test_dropout_is_off_in_packed_data_which_say_so(tiny_corpus, tmp_path, capsys):
    path = saved(bpe(dropout=0.3), tmp_path)
    first, second = (pack(tiny_corpus, TokenizerConfig(str(path)), 16, tmp_path / name) for name in "ab")
    assert first.fingerprint == second.fingerprint
    (change,) = first.tokenizer_changes
    assert change == "BPE dropout of 0.3 is switched off: a text always has the same tokens"
    assert capsys.readouterr().err.count(change) == 2
    assert first.tokenizer.changes == () and "0.3" not in first.tokenizer.backend.to_str()
    plain = pack(tiny_corpus, TokenizerConfig(str(saved(bpe(), tmp_path))), 16, tmp_path / "c")
    assert plain.tokenizer_changes == () and plain.tokenizer.fingerprint == first.tokenizer.fingerprint


def test_what_a_bpe_cannot_spell_becomes_unknown(tmp_path):
    backend = bpe(byte_level=False)
    assert backend.encode(ODD).tokens == ["r", "i", "c", "h", "cat"]  # the rest vanishes, and spans are wrong
    tokenizer = Tokenizer.load(saved(backend, tmp_path))
    assert tokenizer.changes == ("text that it cannot spell becomes [UNK]",)
    ids, spans, _ = tokenizer.encode(ODD)
    expected = [c if c in "rich" else "[UNK]" for c in "THEZürich中文😀"] + ["cat"]
    assert [tokenizer.name(number) for number in ids] == expected
    assert [ODD[start:end] for start, end in spans] == [*"THEZürich中文😀", "cat"]
    assert tokenizer.encode_batch([ODD]) == [ids] and tokenizer.unknown(ids) == 8
    assert tokenizer.left_out(ODD, spans) == 0
    tokenizer.save(tmp_path / "again.json")
    again = Tokenizer.load(tmp_path / "again.json")
    assert again.encode(ODD).ids == ids and again.changes == () and again.fingerprint == tokenizer.fingerprint


@pytest.mark.parametrize(
    ("model", "spelled"),
    [
        (models.WordLevel({"[UNK]": 1, "the": 0}, unk_token="none"), "the"),
        (models.WordPiece({"[UNK]": 1, "the": 0}, unk_token="none"), "the"),
        (models.Unigram([("the", -1.0), ("[UNK]", -9.0)]), "the"),
        (models.BPE({"[UNK]": 1, "the": 0}, [], unk_token="none", ignore_merges=True), "the"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_every_model_gets_an_unknown_token(model, spelled):
    backend = Backend(model)
    with pytest.raises(Exception, match=r"[Uu]nk|UNK"):
        backend.encode("zzz")
    codec = TextCodec(backend, [1], 1)
    ids = codec.encode("zzz").ids
    assert set(ids) == {1} and codec.unknown(ids) == len(ids) and codec.encode_batch(["zzz"]) == [ids]
    assert codec.encode(spelled).ids == [0]
    without = TextCodec(backend, [], None)
    for encode in (without.encode, lambda text: without.encode_batch([text])):
        with pytest.raises(ValueError, match="the tokenizer cannot encode 'zzz'"):
            encode("zzz")


def test_without_any_unknown_token_a_text_is_refused_rather_than_shortened():
    codec = TextCodec(bpe(byte_level=False), [], None)
    assert [codec.name(number) for number in codec.encode("the cat").ids] == ["the", "cat"]
    for encode in (codec.encode, lambda text: codec.encode_batch([text])):
        with pytest.raises(ValueError, match="it has no token for some of the text, nor an unknown token"):
            encode("the ü cat")
    assert codec.size == bpe(byte_level=False).get_vocab_size() and codec.unused == ()


def test_the_models_own_unknown_token_is_the_unknown_token():
    backend = characters("abc", unk_token="c")
    assert Tokenizer(backend).roles["unknown"] == 7
    named = Backend.from_str(backend.to_str().replace("[UNK]", "<none>"))  # under no usual name
    assert Tokenizer(named).roles["unknown"] == 7
    codec = TextCodec(backend, [1], 1)
    assert codec.encode("axb").ids == [5, 7, 6] and codec.unknown([5, 7, 6]) == 1 and codec.changes == ()


def test_a_bpe_of_all_bytes_stays_as_it_is():
    trained = Tokenizer.train("bpe", 300, TEXTS)
    assert trained.changes == () and json.loads(trained.backend.to_str())["model"]["unk_token"] is None
    incomplete = {token: number for token, number in bpe().get_vocab().items() if len(token) > 1 or ord(token) < 128}
    backend = Backend(models.BPE(incomplete, []))
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    assert TextCodec(backend, [1], 1).unknown(TextCodec(backend, [1], 1).encode("aü").ids) == 2


@pytest.mark.parametrize(
    ("normalizer", "pre_tokenizer", "text", "count"),
    [
        (None, None, "a b ab", 0),
        (None, pre_tokenizers.Whitespace(), " a\t b\n", 0),
        (None, pre_tokenizers.Punctuation("removed"), "a,b! c", 2),
        (None, pre_tokenizers.CharDelimiterSplit("x"), "axxb", 2),
        (normalizers.Replace("x", ""), None, "xaxb", 2),
        (normalizers.Replace("xy", "z"), None, "axyb", 0),
        (normalizers.Lowercase(), None, "AbC", 0),
        (normalizers.Strip(), None, "  a ", 0),
        (normalizers.Sequence([normalizers.NFD(), normalizers.StripAccents()]), None, "é e\u0301", 0),
        (normalizers.NFC(), None, "\u1112\u1161\u11ab e\u0301", 0),
        (normalizers.NFKC(), None, "ｶﾞﬁ①", 0),
        (normalizers.BertNormalizer(), pre_tokenizers.BertPreTokenizer(), "É\x00\u200d中b, c", 0),
        (normalizers.NFC(), pre_tokenizers.Punctuation("removed"), "a, b", 1),
    ],
)
def test_characters_that_are_taken_out_are_counted(normalizer, pre_tokenizer, text, count):
    codec = TextCodec(characters("abc ", normalizer, pre_tokenizer), [], 1)
    assert codec.left_out(text, codec.encode(text).spans) == count


def test_ids_without_a_token_are_unused(tmp_path):
    tokenizer = Tokenizer.load(saved(bpe(hole=600), tmp_path))
    numbers = set(tokenizer.backend.get_vocab().values())
    assert tokenizer.size == max(numbers) + 1 and len(tokenizer.unused) == 600
    assert not numbers & set(tokenizer.unused) and len(numbers) + 600 == tokenizer.size
    vocabulary = tokenizer.vocabulary()
    assert vocabulary.unused == tokenizer.unused and vocabulary.regular == len(numbers) - len(SPECIALS)


def test_limits_of_a_vocabulary(tmp_path):
    for size in (LARGEST + 1, 10**12):
        with pytest.raises(ValueError, match=f"at most {LARGEST} entries; set the tokenizer's size={size} to less"):
            TokenizerConfig("bpe", size)
        for kind in ("character", "bpe", "wordpiece"):
            with pytest.raises(ValueError, match=f"at most {LARGEST} entries"):
                Tokenizer.train(kind, size, ["a"])
    with pytest.raises(ValueError, match=f"ids go up to .* at most {LARGEST} entries"):
        Tokenizer.load(saved(bpe(hole=LARGEST), tmp_path))
