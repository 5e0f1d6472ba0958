from __future__ import annotations

import itertools
import re

import pytest
from tokenizers import Tokenizer as Backend
from tokenizers import models, pre_tokenizers

from experiments.corpora import KingJames, PeoplesDaily
from experiments.text.tokenizer import Tokenizer, TokenizerConfig
from tests.support.corpus import as_document

KINDS = ["character", "bpe", "wordpiece"]
ODD = "  A tab\t, a line\n\nand “quotes” — ﬁ, é as e\u0301, 漢字 and 🙂\u3000end.  "
NAMES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]


@pytest.fixture(scope="module")
def english():
    return list(itertools.islice(KingJames().documents("train"), 60))


@pytest.fixture(scope="module")
def tokenizers(english):
    return {kind: Tokenizer.train(kind, 1000, english) for kind in KINDS}


@pytest.mark.parametrize("kind", KINDS)
def test_trained_twice_it_is_the_same_bit_for_bit(kind, english, tokenizers):
    again = Tokenizer.train(kind, 1000, iter(english))
    assert again.fingerprint == tokenizers[kind].fingerprint
    assert again.fingerprint != Tokenizer.train(kind, 900 if kind != "character" else 30, english).fingerprint


@pytest.mark.parametrize("kind", KINDS)
def test_special_ids_come_first(kind, tokenizers):
    vocabulary = tokenizers[kind].vocabulary(3.5)
    ids = (vocabulary.pad, vocabulary.unknown, vocabulary.cls, vocabulary.sep, vocabulary.mask)
    assert ids == vocabulary.specials == (0, 1, 2, 3, 4)
    assert vocabulary.size <= 1000 and vocabulary.characters_per_token == 3.5


def test_bpe_gives_every_text_back(tokenizers):
    texts = [
        *KingJames().documents("validation"),
        *itertools.islice(PeoplesDaily().documents("train"), 200),
        ODD,
    ]
    bpe = tokenizers["bpe"]
    assert [bpe.decode(ids) for ids in bpe.encode_batch(texts)] == texts


def test_character_gives_every_text_back_but_for_unknown_characters(tokenizers, english):
    corpus = PeoplesDaily()
    tokenizer = Tokenizer.build(TokenizerConfig(), corpus.default_tokenizer, corpus.documents("train"))
    texts = list(corpus.documents("validation"))
    ids = tokenizer.encode_batch(texts)
    assert list(map(len, ids)) == list(map(len, texts))
    known = tokenizer.backend.get_vocab()
    expected = ["".join(c if c in known else "[UNK]" for c in text) for text in texts]
    assert list(map(tokenizer.decode, ids)) == expected
    assert sum(text.count("[UNK]") for text in expected) < 0.002 * sum(map(len, texts))


def test_wordpiece_gives_every_text_back_but_for_white_space_and_unknown_words(tokenizers):
    wordpiece = tokenizers["wordpiece"]
    texts = [*KingJames().documents("validation"), ODD]
    for text, ids in zip(texts, wordpiece.encode_batch(texts), strict=True):
        words = [word if word.isascii() or "’" in word else "[UNK]" for word in re.split(r"\s+", text.strip())]
        decoded = wordpiece.decode(ids).split(" ")
        assert len(decoded) == len(words)
        assert all(word in (given, "[UNK]") for word, given in zip(decoded, words, strict=True))
        assert sum(word == "[UNK]" for word in decoded) < 0.01 * len(decoded) or text == ODD
    assert wordpiece.decode(wordpiece.encode_batch(["\n an  house.\t"])[0]) == "an house."
    assert wordpiece.decode(wordpiece.encode_batch(["a ##b [SEP] c##d"])[0]) == "a # #b [ SEP] c##d"


@pytest.mark.parametrize("kind", KINDS)
def test_special_tokens_in_text_are_plain_text(kind, english):
    tokenizer = Tokenizer.train(kind, 1000, [*english, "a [b] c"])
    for name in NAMES:
        for text in (name, f"the {name} of", f"x{name}y", f"{name}{name}"):
            for ids in (tokenizer.encode_batch([text])[0], tokenizer.encode(text).ids):
                assert not set(ids) & set(tokenizer.specials)
                assert tokenizer.decode(ids).replace(" ", "") == text.replace(" ", "")


@pytest.mark.parametrize("kind", KINDS)
def test_saved_and_loaded_it_is_the_same(kind, tokenizers, english, tmp_path):
    tokenizers[kind].save(tmp_path / "tokenizer.json")
    loaded = Tokenizer.build(TokenizerConfig(str(tmp_path / "tokenizer.json")), "bpe", [])
    assert loaded.fingerprint == tokenizers[kind].fingerprint
    assert loaded.encode_batch(english[:5]) == tokenizers[kind].encode_batch(english[:5])
    assert loaded.vocabulary() == tokenizers[kind].vocabulary()


@pytest.mark.parametrize("kind", KINDS)
def test_offsets_are_the_characters_behind_each_token(kind, tokenizers, english):
    text = english[0]
    ids, offsets, _ = tokenizers[kind].encode(text)
    assert ids == tokenizers[kind].encode_batch([text])[0]
    assert "".join(text[start:end] for start, end in offsets) == (
        text.replace(" ", "") if kind == "wordpiece" else text
    )


def test_wrap_puts_the_special_tokens_around(tokenizers):
    bpe = tokenizers["bpe"]
    ids = as_document(bpe, bpe.encode_batch(["In the"])[0])
    assert ids[0] == 2 and ids[-1] == 3
    assert bpe.decode(ids) == "[CLS]In the[SEP]"


def test_training_reads_no_further_than_its_setting_says(english):
    def texts():
        yield english[0]
        yield english[1]
        raise AssertionError("read too far")

    config = TokenizerConfig("bpe", 500, train_characters=len(english[0]) + 10)
    tokenizer = Tokenizer.build(config, "character", texts())
    assert tokenizer.fingerprint == Tokenizer.train("bpe", 500, [english[0], english[1][:10]]).fingerprint


def test_auto_is_the_kind_of_the_corpus(english, tokenizers):
    for kind in KINDS:
        built = Tokenizer.build(TokenizerConfig("auto", 1000), kind, english)
        assert built.fingerprint == tokenizers[kind].fingerprint


def foreign(tmp_path, *names):
    """A tokenizer.json that someone else made: whole words, special tokens under other names."""
    vocabulary = {token: number for number, token in enumerate([*names, "<unk>", "hello", "world"])}
    backend = Backend(models.WordLevel(vocabulary, unk_token="<unk>"))
    backend.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    backend.add_special_tokens([name for name in (*names, "<unk>") if name in vocabulary])
    backend.enable_truncation(2)
    backend.enable_padding(length=9)
    path = tmp_path / "tokenizer.json"
    backend.save(str(path))
    return path


def test_special_tokens_of_another_tokenizer_are_found_by_their_usual_names(tmp_path):
    tokenizer = Tokenizer.load(foreign(tmp_path, "<pad>", "<s>", "</s>", "<mask>"))
    assert tokenizer.roles == {"pad": 0, "unknown": 4, "cls": 1, "sep": 2, "mask": 3}
    assert tokenizer.size == 7 and tokenizer.specials == (0, 1, 2, 3, 4)
    # Neither its truncation nor its padding applies, and its specials cannot be written in text.
    assert tokenizer.encode_batch(["hello world hello <mask>", "<s>"]) == [[5, 6, 5, 4], [4]]


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (("<pad>", "<s>", "</s>"), r"tokenizer.json: the tokenizer has no mask token; add one of \[MASK\]"),
        (("<s>", "</s>", "<mask>"), "no pad token"),
        (("<pad>", "</s>", "<mask>"), "no cls token"),
    ],
)
def test_a_missing_special_token_is_named(tmp_path, names, message):
    with pytest.raises(ValueError, match=message):
        Tokenizer.load(foreign(tmp_path, *names))


def test_bad_configurations_say_what_to_change(tmp_path):
    broken = tmp_path / "broken.json"
    broken.write_text("{")
    for build, message in [
        (lambda: TokenizerConfig("unigram"), 'kind "unigram" is neither auto, character, bpe, wordpiece nor'),
        (lambda: TokenizerConfig("absent.json"), "path of a tokenizer.json that exists"),
        (lambda: TokenizerConfig(size=5), "a vocabulary of 5 has no room beside its 5 special tokens"),
        (lambda: TokenizerConfig(train_characters=0), "must be positive"),
        (
            lambda: Tokenizer.train("bpe", 200, ["a"]),
            "a bpe vocabulary needs at least 261 entries, but size is 200",
        ),
        (lambda: Tokenizer.train("words", 200, ["a"]), 'kind "words" is none of'),
        (lambda: Tokenizer.load(broken), "cannot read the tokenizer .*broken.json"),
    ]:
        with pytest.raises(ValueError, match=message):
            build()
