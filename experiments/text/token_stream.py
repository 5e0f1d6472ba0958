"""Documents to one long stream of token ids, in chunks that bound the memory."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
from tokenizers import Encoding

from experiments.text.tokenizer import Tokenizer

CHUNK = 1_000_000
"""Characters encoded at once; until they are copied, encodings take some 100 bytes a character."""
LONGEST_PIECE = 250_000
"""A longer document is encoded in pieces cut after a line or word; the tokens beside a cut may differ."""


class Chunk(NamedTuple):
    tokens: np.ndarray
    documents: int
    characters: int
    specials: int
    """Special tokens, unknown ones included."""
    unknown: int
    """Tokens that stand for text which the tokenizer cannot encode."""


class _Piece(NamedTuple):
    text: str
    opens: bool
    closes: bool


def token_stream(documents: Iterable[str], tokenizer: Tokenizer, dtype: np.dtype) -> Iterator[Chunk]:
    """The documents, each as [CLS] tokens [SEP], as arrays of ids that follow each other."""
    chunks = _chunks(itertools.chain.from_iterable(map(_cut, documents)))
    # The next chunk is read and begun before the last one is copied: Python and the tokenizer work in parallel.
    with ThreadPoolExecutor(1) as encoder:
        begun = ((pieces, encoder.submit(tokenizer.encodings, [p.text for p in pieces])) for pieces in chunks)
        for current, _ in itertools.pairwise(itertools.chain(begun, [None])):
            assert current is not None
            pieces, encodings = current[0], current[1].result()
            yield _joined(pieces, encodings, tokenizer, dtype)


def _joined(pieces: list[_Piece], encodings: list[Encoding], tokenizer: Tokenizer, dtype: np.dtype) -> Chunk:
    lengths = np.array([len(encoding) for encoding in encodings])
    ids = np.fromiter(itertools.chain.from_iterable(e.ids for e in encodings), dtype, lengths.sum())
    tokenizer.replace_specials(ids)
    opens = np.array([piece.opens for piece in pieces])
    closes = np.array([piece.closes for piece in pieces])
    ends = np.cumsum(lengths + opens + closes)
    tokens = np.empty(ends[-1], dtype)
    plain = np.ones(len(tokens), bool)
    for places, role in (((ends - lengths - opens - closes)[opens], "cls"), ((ends - 1)[closes], "sep")):
        tokens[places] = tokenizer.roles[role]
        plain[places] = False
    tokens[plain] = ids
    unknown = int(np.count_nonzero(ids == tokenizer.roles["unknown"]))
    return Chunk(
        tokens,
        documents=int(opens.sum()),
        characters=sum(len(piece.text) for piece in pieces),
        specials=len(tokens) - len(ids) + unknown,
        unknown=unknown,
    )


def _cut(document: str) -> Iterator[_Piece]:
    start = 0
    while len(document) - start > LONGEST_PIECE:
        limit = start + LONGEST_PIECE
        cut = max(document.rfind("\n", start, limit), document.rfind(" ", limit - 1000, limit)) + 1
        end = cut if cut > start else limit
        yield _Piece(document[start:end], start == 0, False)
        start = end
    yield _Piece(document[start:], start == 0, True)


def _chunks(pieces: Iterable[_Piece]) -> Iterator[list[_Piece]]:
    chunk: list[_Piece] = []
    characters = 0
    for piece in pieces:
        if chunk and characters + len(piece.text) > CHUNK:
            yield chunk
            chunk, characters = [], 0
        chunk.append(piece)
        characters += len(piece.text)
    if chunk:
        yield chunk
