"""Training of the three kinds of tokenizer; the same texts give the same tokenizer, bit for bit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator

from tokenizers import Regex, decoders, models, pre_tokenizers, trainers
from tokenizers import Tokenizer as Backend

from experiments.text.backend import LARGEST

SPECIALS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
UNKNOWN = "[UNK]"
LONGEST_WORD = 1000
PIECE = 100_000
"""Characters that a trainer is given at once: one long document must not be held several times over."""


def train_backend(kind: str, size: int, texts: Iterable[str]) -> Backend:
    """A tokenizer of at most `size` entries, with ids 0 to 4 for [PAD] [UNK] [CLS] [SEP] [MASK].

    Raises:
        ValueError: when the kind is unknown, or the size is too small for it or above LARGEST.
    """
    if kind not in KINDS:
        raise ValueError(f'tokenizer kind "{kind}" is none of {", ".join(KINDS)}')
    if size < SMALLEST[kind]:
        raise ValueError(f"a {kind} vocabulary needs at least {SMALLEST[kind]} entries, but size is {size}")
    if size > LARGEST:  # a trainer takes the memory for all of them at once
        raise ValueError(f"a vocabulary has at most {LARGEST} entries, but size is {size}")
    tokenizer = KINDS[kind](size, texts)
    tokenizer.add_special_tokens(list(SPECIALS))
    return tokenizer


def _character(size: int, texts: Iterable[str]) -> Backend:
    """The most frequent characters. BPE without merges is twice as fast as WordLevel behind a regex."""
    counts: Counter[str] = Counter()
    for text in texts:
        counts.update(text)
    characters = _by_frequency(counts)[: size - len(SPECIALS)]
    vocabulary = {token: number for number, token in enumerate((*SPECIALS, *characters))}
    tokenizer = Backend(models.BPE(vocabulary, [], unk_token=UNKNOWN))
    tokenizer.decoder = decoders.Fuse()
    return tokenizer


def _bpe(size: int, texts: Iterable[str]) -> Backend:
    """Byte-level, no space put in front: every text has ids, and decoding gives it back."""
    tokenizer = Backend(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=size,
        special_tokens=list(SPECIALS),
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    tokenizer.train_from_iterator(_pieces(texts), trainer)
    return tokenizer


def _wordpiece(size: int, texts: Iterable[str]) -> Backend:
    """Words between white space, punctuation included, in pieces; ## marks those inside a word."""
    words: Counter[str] = Counter()
    for piece in _pieces(texts):
        words.update(piece.split())
    alphabet = _alphabet(words, size // 4)
    trainer = trainers.WordPieceTrainer(
        vocab_size=size,
        # The trainer numbers "##x" in the random order of a hash map, and ties between merges go by number:
        # named here, they are numbered in this order instead.
        special_tokens=[*SPECIALS, *(f"##{character}" for character in alphabet)],
        initial_alphabet=alphabet,
        limit_alphabet=len(alphabet),
        show_progress=False,
    )
    learner = Backend(models.WordPiece(unk_token=UNKNOWN))
    learner.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    learner.train_from_iterator(_repeated(words), trainer)
    model = models.WordPiece(learner.get_vocab(), unk_token=UNKNOWN, max_input_chars_per_word=LONGEST_WORD)
    tokenizer = Backend(model)
    names = "|".join(name[1:-1] for name in SPECIALS)
    # A word that begins with the name of a special token, or like a piece, would be taken for it: its first
    # character is split off.
    first = Regex(rf"\A(?:\[(?=(?:{names})\])|#(?=#))")
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Split(first, "isolated")]
    )
    tokenizer.decoder = decoders.WordPiece(prefix="##", cleanup=False)
    return tokenizer


def _alphabet(words: Counter[str], limit: int) -> list[str]:
    """ASCII, then the most frequent characters."""
    counts: Counter[str] = Counter()
    for word, times in words.items():
        for character in word:
            counts[character] += times
    visible = [character for character in map(chr, range(128)) if character.isprintable() and character != " "]
    return list(dict.fromkeys([*visible, *_by_frequency(counts)]))[:limit]


def _repeated(words: Counter[str]) -> Iterator[str]:
    """Text that has each word so many times."""
    for word, times in sorted(words.items()):
        whole, rest = divmod(times, 1000)
        yield from (f"{word} " * 1000 for _ in range(whole))
        yield f"{word} " * rest


def _pieces(texts: Iterable[str]) -> Iterator[str]:
    for text in texts:
        for start in range(0, len(text), PIECE):
            yield text[start : start + PIECE]


def _by_frequency(counts: Counter[str]) -> list[str]:
    return sorted(counts, key=lambda character: (-counts[character], character))


KINDS: dict[str, Callable[[int, Iterable[str]], Backend]] = {
    "character": _character,
    "bpe": _bpe,
    "wordpiece": _wordpiece,
}
SMALLEST = {"character": len(SPECIALS) + 1, "bpe": len(SPECIALS) + 256, "wordpiece": 512}
