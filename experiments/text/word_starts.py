"""Where words begin in blocks of tokens, for objectives that select whole words.

A word is one of `corpora.words.words_of`, cut further at punctuation, each mark of which is a word by itself, as in
BERT's basic tokenizer: what goes on inside a word is only letter behind letter, where a letter is any other visible
character, digits and emoji included. Combining marks and variation selectors belong to the character before them, white
space to the word behind it. A token belongs to the word of its first character.

B blocks, T positions.
"""

from __future__ import annotations

import functools
import json
import re
import string
import sys
import unicodedata

import numpy as np
from tokenizers import Tokenizer as Backend

from experiments.corpora.words import CHINESE
from experiments.text.segmentation import Segmenter
from experiments.text.tokenizer import Tokenizer

SPACE, ALONE, LETTER, MARK, NOT_MET = range(5)
"""What a character is: white space; a word by itself; a part of one; a part of the character before it."""
_KINDS = np.full(sys.maxunicode + 1, NOT_MET, np.uint8)
"""By code point; that of all would take half a second, so each is looked up when it is met."""
EDGE = "\uffff"
"""Stands for a special token and for the edge of a block; no text has it, and it is a word by itself."""
CHINESE_RUN = re.compile(f"[{CHINESE}]+")
BYTE = re.compile("<0x([0-9A-F]{2})>")
"""How a tokenizer of characters names the bytes of those that it has no token for."""


class WordStarts:
    """Where words begin in blocks of a tokenizer's ids. Each block is read alone: the rest of a word that its edge cuts
    is a word by itself.

    Args:
        tokenizer: how text became ids.
        segmenter: which Chinese characters are a word together; each is one by itself when not given.
    """

    def __init__(self, tokenizer: Tokenizer, segmenter: Segmenter | None = None) -> None:
        self.tokenizer, self.segmenter = tokenizer, segmenter
        self._pieces = [*_pieces(tokenizer.backend, tokenizer.size), EDGE.encode()]
        for special in tokenizer.specials:
            self._pieces[special] = EDGE.encode()

    def __reduce__(self) -> tuple[type[WordStarts], tuple[Tokenizer, Segmenter | None]]:
        return WordStarts, (self.tokenizer, self.segmenter)  # a worker makes the table itself; the tokenizer it has

    def __call__(self, tokens_BT: np.ndarray) -> np.ndarray:
        """True where a token begins a word, (B, T): the first of a block, special ones and those behind them do."""
        framed = np.pad(tokens_BT, ((0, 0), (1, 0)), constant_values=len(self._pieces) - 1)
        pieces = [self._pieces[token] for token in framed.ravel().tolist()]
        sizes = np.fromiter(map(len, pieces), np.int64, len(pieces))
        text = b"".join(pieces).decode("utf-8", "surrogateescape")
        points = _points(text)
        character_of_byte = np.append(np.repeat(np.arange(len(points)), _widths(points)), len(points))
        first = character_of_byte[sizes.cumsum() - sizes]
        word_of_character = np.append(self._starts(text, points).cumsum(), 0)
        starts = np.diff(word_of_character[first], prepend=0) != 0
        # A character in several pieces is never torn, whatever begins it in the piece before.
        starts[1:] &= first[1:] != character_of_byte[(sizes.cumsum() - sizes)[1:] - 1]
        return starts.reshape(framed.shape)[:, 1:]

    def _starts(self, text: str, points: np.ndarray) -> np.ndarray:
        """For each character, whether a word begins there."""
        starts = character_starts(points)
        if self.segmenter is not None:
            for run in CHINESE_RUN.finditer(text):
                place = run.start()
                for word in self.segmenter.words(run[0]):
                    starts[place + 1 : place + len(word)] = False
                    place += len(word)
        return starts


def word_starts(tokenizer: Tokenizer, segmenter: Segmenter | None = None) -> WordStarts | None:
    """As of `WordStarts`; None where ids do not tell: decoding puts no spaces, or behind words."""
    state = json.loads(tokenizer.backend.to_str())
    if state["decoder"] is None or state["model"].get("end_of_word_suffix"):
        return None
    return WordStarts(tokenizer, segmenter)


def character_starts(points: np.ndarray) -> np.ndarray:
    """For each code point of a text, whether a word begins there."""
    kinds, edges = _kinds(points), points == ord(EDGE)
    bare = np.append(True, (kinds == SPACE)[:-1] | edges[:-1])
    kinds = np.where(bare & (kinds == MARK), LETTER, kinds)  # it belongs to no character
    place = np.maximum.accumulate(np.where(kinds == MARK, 0, np.arange(len(kinds))))
    before = np.append(ALONE, kinds[place[:-1]])  # that of the character before, marks left aside
    goes_on = (before == SPACE) | (before == LETTER) & (kinds == LETTER) | (kinds == MARK)
    return ~goes_on | edges


def _kinds(points: np.ndarray) -> np.ndarray:
    """What the character of each code point is."""
    kinds = _KINDS[points]
    if (kinds == NOT_MET).any():
        for point in np.unique(points[kinds == NOT_MET]).tolist():
            _KINDS[point] = _kind(chr(point))
        kinds = _KINDS[points]
    return kinds


def _kind(character: str) -> int:
    if character.isspace():
        return SPACE
    if CHINESE_RUN.match(character) or character in string.punctuation or character == EDGE:
        return ALONE
    return {"P": ALONE, "M": MARK}.get(unicodedata.category(character)[0], LETTER)


def _points(text: str) -> np.ndarray:
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)


def _widths(points: np.ndarray) -> np.ndarray:
    """Bytes of each code point in UTF-8; a surrogate stands for one byte that is no text."""
    widths = 1 + (points >= 0x80).astype(np.int64) + (points >= 0x800) + (points >= 0x10000)
    return np.where((points >= 0xD800) & (points < 0xE000), 1, widths)


def _pieces(backend: Backend, size: int) -> list[bytes]:
    """What each id adds to a text behind a word, in UTF-8: a part of a character too."""
    decoder = json.dumps(json.loads(backend.to_str())["decoder"])
    names = [backend.id_to_token(token) or "" for token in range(size)]
    if '"ByteLevel"' in decoder:
        return [_as_bytes(name) for name in names]
    word = backend.encode("a", add_special_tokens=False).ids
    before = backend.decode(word, skip_special_tokens=False)
    texts = backend.decode_batch([[*word, token] for token in range(size)], skip_special_tokens=False)
    pieces = [text.removeprefix(before).encode() for text in texts]
    if '"ByteFallback"' in decoder:
        pieces = [
            bytes.fromhex(byte[1]) if (byte := BYTE.fullmatch(name)) else piece
            for name, piece in zip(names, pieces, strict=True)
        ]
    return pieces


def _as_bytes(name: str) -> bytes:
    """What a name in a byte-level vocabulary spells; one with other characters is text that was added as it is."""
    alphabet = _byte_alphabet()
    return bytes(map(alphabet.__getitem__, name)) if alphabet.keys() >= set(name) else name.encode()


@functools.cache
def _byte_alphabet() -> dict[str, int]:
    """The byte that each character of a byte-level vocabulary stands for (GPT-2, Radford et al. 2019): visible ones of
    Latin-1 for themselves, those from 256 on for the others in order."""
    visible = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in visible]
    return {chr(byte): byte for byte in visible} | {chr(256 + rank): byte for rank, byte in enumerate(others)}
