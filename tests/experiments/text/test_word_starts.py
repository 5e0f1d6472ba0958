"""Where words begin, by token ids alone: against the words of the text that the ids were made of."""

import random
import unicodedata
from dataclasses import dataclass

import numpy as np
import pytest
from tokenizers import Regex, decoders, models, normalizers, pre_tokenizers
from tokenizers import Tokenizer as Backend

from experiments.corpora.words import words_of
from experiments.text.segmentation import Jieba, Segmenter
from experiments.text.tokenizer import Tokenizer
from experiments.text.word_starts import WordStarts, word_starts
from tests.support.tokenizers import SPECIALS, bpe, characters

FAMILY = "👨\u200d👩\u200d👧"
TEXTS = {
    "English": "The old cat sees the river near Nagasaki",
    "punctuation": 'Don\'t (stop), she said... "why?" — a well-known U.S. price: $3.14!',
    "Chinese": "今天天气好,我们去fish市场 吃鱼。（真的吗？）",
    "Japanese and Korean": "これはペンです 한국어 문장 々仝",
    "emoji": f"hi😀👍🏽 {FAMILY}!{FAMILY} 🇩🇪🇫🇷 ❤\ufe0f‼\ufe0f #\ufe0f\u20e31\ufe0f\u20e3",
    "combining marks": "cafe\u0301 n\u0303o \u0915\u094d\u0937 字\u0301字 !\u0301x \u0301y \u0301!",
    "white space": "  two  blanks\n\nlines\tand\u3000wide\r\nend \n",
    "supplementary planes": "𠀀𠀁 𝒳𝒴z 😶\u200d🌫\ufe0f",
}
POOL = "aabbé.,'!-$… \n  今天好。々かい한😀👍🏽❤\ufe0f\u200d\u0301\u20e3🇩𠀀"


def words_by_loop(text):
    """The spans of words, found character by character; marks belong to what is before them."""
    words, letters = [], False
    for place, character in enumerate(text):
        behind_space = place == 0 or text[place - 1].isspace()
        if character.isspace():
            letters = False
        elif unicodedata.category(character).startswith("M") and not behind_space:
            words[-1][1] = place + 1
        else:
            ascii_symbol = character.isascii() and not character.isalnum() and character.isprintable()
            chinese = words_of(f"a{character}a") == [(0, 1), (1, 2), (2, 3)]
            alone = chinese or ascii_symbol or unicodedata.category(character).startswith("P")
            if alone or not letters:
                words.append([place, place])
            words[-1][1], letters = place + 1, not alone
    return [tuple(word) for word in words]


def starts_by_spans(tokenizer, text, words):
    """Whether each token has its first character in another word than the one before; white space is in the next."""
    numbers = [sum(end <= start for _, end in words) for start, _ in tokenizer.encode(text).spans]
    return [place == 0 or number != numbers[place - 1] for place, number in enumerate(numbers)]


def starts(tokenizer, ids, segmenter=None):
    return WordStarts(tokenizer, segmenter)(np.array([ids]))[0].tolist()


def groups(tokenizer, text, segmenter=None):
    """The words of a text as its tokens make them, decoded."""
    ids, words = tokenizer.encode(text).ids, []
    for number, begins in zip(ids, starts(tokenizer, ids, segmenter), strict=True):
        words.extend([[]] * begins)
        words[-1] = [*words[-1], number]
    return [tokenizer.decode(word) for word in words]


def unigram():
    """As of SentencePiece: spaces are written ▁, and characters without a token as bytes, whose spans are blurred."""
    pieces = [(name, 0.0) for name in SPECIALS]
    pieces += [(f"<0x{byte:02X}>", -9.0) for byte in range(256)]
    pieces += [(piece, -2.0) for piece in ("▁", "▁the", "▁cat", "▁o", "ld", "ri", "ver", "今", "天", ".", "'")]
    pieces += [(letter, -4.0) for letter in "abcdefghijklmnopqrstuvwxyzTDNUS"]
    backend = Backend(models.Unigram(pieces, unk_id=1, byte_fallback=True))
    backend.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    fallback = [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    backend.decoder = decoders.Sequence(fallback)
    backend.add_special_tokens(SPECIALS)
    return Tokenizer(backend)


def bert():
    """As of bert-base: words and punctuation apart, without case and accents, then WordPiece."""
    alphabet = sorted({character for text in TEXTS.values() for character in text.lower() if not character.isspace()})
    pieces = ["the", "cat", "riv", "##er", "##ver", *alphabet, *(f"##{character}" for character in alphabet)]
    vocabulary = {name: number for number, name in enumerate(dict.fromkeys([*SPECIALS, *pieces]))}
    backend = Backend(models.WordPiece(vocabulary, unk_token="[UNK]"))
    backend.normalizer = normalizers.BertNormalizer(lowercase=True, strip_accents=False)
    backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    backend.decoder = decoders.WordPiece(cleanup=True)
    backend.add_special_tokens(SPECIALS)
    return Tokenizer(backend)


@pytest.fixture(scope="module")
def tokenizers():
    texts = [*TEXTS.values()] * 3 + ["the river. "] * 50
    return {
        **{kind: Tokenizer.train(kind, 700, texts) for kind in ("character", "bpe", "wordpiece")},
        "bpe of bytes": Tokenizer(bpe()),
        "unigram": unigram(),
        "bert": bert(),
    }


KINDS = ["character", "bpe", "wordpiece", "bpe of bytes", "unigram", "bert"]
# BERT's tokenizer itself tears marks off punctuation and Chinese characters: decoding puts a space between them.
TORN = [("bert", "emoji"), ("bert", "combining marks")]
OF_TEXT = [(kind, name) for kind in KINDS for name in TEXTS if kind != "unigram" and (kind, name) not in TORN]


@pytest.mark.parametrize(("kind", "name"), OF_TEXT)
def test_words_are_those_of_the_text(tokenizers, kind, name):
    tokenizer, text = tokenizers[kind], TEXTS[name]
    ids = tokenizer.encode(text).ids
    assert tokenizer.roles["unknown"] not in ids
    assert starts(tokenizer, ids) == starts_by_spans(tokenizer, text, words_by_loop(text))


@pytest.mark.parametrize("kind", ["character", "bpe", "bpe of bytes"])
@pytest.mark.parametrize("name", ["English", "Japanese and Korean", "white space", "supplementary planes"])
def test_without_punctuation_words_are_those_of_words_of(tokenizers, kind, name):
    tokenizer, text = tokenizers[kind], TEXTS[name]
    assert starts(tokenizer, tokenizer.encode(text).ids) == starts_by_spans(tokenizer, text, words_of(text))


def test_words_of_are_only_cut_further_and_only_at_punctuation():
    for text in TEXTS.values():
        whole = {start for start, _ in words_of(text)} - {place for place, c in enumerate(text) if c == "\u0301"}
        cut = {start for start, _ in words_by_loop(text)}
        assert whole <= cut
        assert all(any(not c.isalnum() for c in text[place - 1 : place + 2]) for place in cut - whole)


@pytest.mark.parametrize("kind", ["character", "bpe of bytes"])
def test_words_of_random_texts_are_those_of_the_text(tokenizers, kind):
    tokenizer = Tokenizer(characters(POOL, unk_token="[UNK]")) if kind == "character" else tokenizers[kind]
    draw = random.Random(0)
    for _ in range(400):
        text = "".join(draw.choices(POOL, k=draw.randint(1, 12)))
        expected = starts_by_spans(tokenizer, text, words_by_loop(text))
        assert starts(tokenizer, tokenizer.encode(text).ids) == expected, ascii(text)


def test_words_in_plain_sight(tokenizers):
    text = f"The café's 今天 river. 👍🏽{FAMILY} 字\u0301x"
    assert groups(tokenizers["bpe of bytes"], text) == [
        *("The", " café", "'", "s", " 今", "天", " river", ".", f" 👍🏽{FAMILY}", " 字\u0301", "x"),
    ]
    assert groups(tokenizers["unigram"], "the cat's 今气。old 😀👍🏽! river") == [
        *("the", "cat", "'", "s", "今", "气", "。", "old", "😀👍🏽", "!", "river"),
    ]
    character = Tokenizer(characters(text, unk_token="[UNK]"))
    assert groups(character, text) == [
        *("The", " café", "'", "s", " 今", "天", " river", ".", f" 👍🏽{FAMILY}", " 字\u0301", "x"),
    ]
    ids = [tokenizers["bert"].backend.token_to_id(name) for name in ("riv", "##er", ".", "the", "c", "##a")]
    assert starts(tokenizers["bert"], ids) == [True, False, True, True, True, False]
    # Punctuation inside of what WordPiece was given as one word is a word by itself all the same.
    ids = [tokenizers["bert"].backend.token_to_id(name) for name in ("riv", "##er", "##.", "##c")]
    assert starts(tokenizers["bert"], ids) == [True, False, True, True]


def test_a_word_cut_by_the_edge_of_a_block_goes_on_as_one_by_itself(tokenizers):
    tokenizer = tokenizers["bpe of bytes"]
    ids = tokenizer.encode("xylophone 今天").ids
    whole = starts(tokenizer, ids)
    assert len(ids) >= 15 and whole.count(True) == 3
    second = whole.index(True, 1)
    for cut in range(1, second):
        first, rest = ids[:cut], ids[cut:]
        both = WordStarts(tokenizer)(np.array([first + [tokenizer.roles["pad"]] * (len(rest) - cut), rest]))
        assert both[0, :cut].tolist() == whole[:cut]
        assert both[1].tolist() == [True, *whole[cut + 1 :]]
        if len(rest) < 2 * cut:
            break


def test_a_character_cut_by_the_edge_of_a_block(tokenizers):
    """What is left of it in either block goes on like a letter; bytes do not come together again over the edge."""
    tokenizer = tokenizers["bpe of bytes"]
    ids = tokenizer.encode("今天今天").ids
    assert len(ids) == 12
    found = WordStarts(tokenizer)(np.array([ids[:4], ids[4:8], ids[8:]]))
    yes, no = True, False
    assert found.tolist() == [[yes, no, no, yes], [yes, no, no, no], [yes, yes, no, no]]


def test_a_character_is_not_torn_where_a_token_has_its_first_byte_and_another_character():
    vocabulary = {name: number for number, name in enumerate([*SPECIALS, "a", "ä", "»", "Ĭ", "aä"])}
    backend = Backend(models.BPE(vocabulary, [("a", "ä")], unk_token="[UNK]"))
    backend.pre_tokenizer, backend.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    backend.add_special_tokens(SPECIALS)
    tokenizer = Tokenizer(backend)
    ids = tokenizer.encode("a今a").ids  # E4 BB 8A
    assert [tokenizer.name(number) for number in ids] == ["aä", "»", "Ĭ", "a"]
    assert starts(tokenizer, ids) == [True, False, False, True]


@pytest.mark.parametrize("kind", KINDS)
def test_special_tokens_and_those_behind_them_begin_words(tokenizers, kind):
    tokenizer = tokenizers[kind]
    (cls, sep, unk, pad), word = (tokenizer.roles[role] for role in ("cls", "sep", "unknown", "pad")), None
    word = tokenizer.encode("cat").ids[-1]
    row = [word, sep, cls, word, word, unk, word, sep, pad, pad]
    within = starts(tokenizer, [word, word])[1]
    assert starts(tokenizer, row) == [True, True, True, True, within, True, True, True, True, True]


def test_blocks_are_read_alone(tokenizers):
    draw = random.Random(1)
    for kind in KINDS:
        tokenizer = tokenizers[kind]
        blocks = np.array([[draw.randrange(tokenizer.size) for _ in range(9)] for _ in range(50)])
        together = WordStarts(tokenizer)(blocks)
        assert together.shape == blocks.shape and together.dtype == bool and together[:, 0].all()
        assert together.tolist() == [starts(tokenizer, block.tolist()) for block in blocks]
        special = np.isin(blocks, tokenizer.specials)
        assert together[special].all() and together[:, 1:][special[:, :-1]].all()


@dataclass(frozen=True)
class Known(Segmenter):
    """The longest known word first."""

    known: tuple[str, ...] = ("今天", "天气", "中华人民共和国")

    def cut(self, text):
        while text:
            size = max((len(word) for word in self.known if text.startswith(word)), default=1)
            yield text[:size]
            text = text[size:]


@dataclass(frozen=True)
class Careless(Segmenter):
    def cut(self, text):
        return [text[1:]]


@pytest.mark.parametrize("kind", ["character", "bpe of bytes"])
def test_a_segmenter_joins_chinese_characters(tokenizers, kind):
    text = "今天天气好, 今天fish今 天中华人民共和国 it is今天"
    tokenizer = Tokenizer(characters(text, unk_token="[UNK]")) if kind == "character" else tokenizers[kind]
    expected = ["今天", "天气", "好", ",", " 今天", "fish", "今", " 天", "中华人民共和国", " it", " is", "今天"]
    assert groups(tokenizer, text, Known()) == expected
    # Of words cut by the edge of a block each part is one by itself, and so is each side of an unknown token.
    ids, unknown = tokenizer.encode("今天").ids, tokenizer.roles["unknown"]
    half = len(ids) // 2 if kind == "character" else 3
    row = [*ids, *ids[:half], unknown, *ids[half:]]
    plain = [True] + [False] * (len(ids) - 1)
    assert starts(tokenizer, row, Known()) == [*plain, *plain[:half], True, *plain[: len(ids) - half]]


def test_a_segmenter_that_changes_the_text_is_named(tokenizers):
    with pytest.raises(ValueError, match=r"Careless cut '今天' into \['天'\]"):
        groups(tokenizers["bpe of bytes"], "x今天", Careless())


def test_jieba_knows_chinese_words():
    pytest.importorskip("jieba", reason="the extra chinese is not installed")
    text = "我们今天去北京大学，好吗"
    tokenizer = Tokenizer(characters(text, unk_token="[UNK]"))
    assert groups(tokenizer, text, Jieba()) == ["我们", "今天", "去", "北京大学", "，", "好", "吗"]


def test_words_are_not_known_where_ids_do_not_tell():
    assert word_starts(Tokenizer(bpe())) is not None
    assert word_starts(Tokenizer(bpe(byte_level=False, unk_token="[UNK]"))) is None  # decodes with a space everywhere
    suffixed = characters("ab", unk_token="[UNK]", end_of_word_suffix="</w>")
    suffixed.pre_tokenizer = pre_tokenizers.Split(Regex(r"\s"), "removed")
    assert word_starts(Tokenizer(suffixed)) is None
