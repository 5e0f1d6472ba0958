"""Documents to one long stream of token ids, in chunks that bound the memory."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np

from experiments.tokenizer import Tokenizer

CHUNK = 1_000_000
"""Characters encoded at once; until they are copied, encodings take some 100 bytes a character."""
LONGEST_PIECE = 250_000
"""A longer document is encoded in pieces cut after a line or word; the tokens beside a cut may differ."""

_PARALLELISM = "TOKENIZERS_PARALLELISM"
_forbidden_here = False


class Chunk(NamedTuple):
    tokens: np.ndarray
    documents: int
    characters: int
    specials: int


class _Piece(NamedTuple):
    text: str
    opens: bool
    closes: bool


def token_stream(documents: Iterable[str], tokenizer: Tokenizer, dtype: np.dtype) -> Iterator[Chunk]:
    """The documents, each as [CLS] tokens [SEP], as arrays of ids that follow each other."""
    opening, closing = [tokenizer.roles["cls"]], [tokenizer.roles["sep"]]
    special = np.zeros(tokenizer.size, bool)
    special[list(tokenizer.specials)] = True
    chunks = _chunks(itertools.chain.from_iterable(map(_cut, documents)))
    # The next chunk is read and begun before the last one is copied: Python and the tokenizer work side by side.
    with ThreadPoolExecutor(1) as encoder:
        begun = ((pieces, encoder.submit(tokenizer.encode_batch, [p.text for p in pieces])) for pieces in chunks)
        for current, _ in itertools.pairwise(itertools.chain(begun, [None])):
            assert current is not None
            pieces, encoded = current[0], current[1].result()
            count = sum(map(len, encoded)) + sum(piece.opens + piece.closes for piece in pieces)
            parts = (
                part
                for piece, ids in zip(pieces, encoded, strict=True)
                for part in (opening if piece.opens else (), ids, closing if piece.closes else ())
            )
            tokens = np.fromiter(itertools.chain.from_iterable(parts), dtype, count)
            yield Chunk(
                tokens,
                documents=sum(piece.opens for piece in pieces),
                characters=sum(len(piece.text) for piece in pieces),
                specials=int(special[tokens].sum()),
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


def forbid_parallel_encoding() -> None:
    """For before a fork, which the threads of `tokenizers` do not survive. The user's word stands."""
    global _forbidden_here
    if _PARALLELISM not in os.environ:
        os.environ[_PARALLELISM] = "false"
        _forbidden_here = True


@contextmanager
def parallel_encoding() -> Iterator[None]:
    """Lets `tokenizers` use its threads, unless the user has forbidden it."""
    if not _forbidden_here:
        yield
        return
    del os.environ[_PARALLELISM]
    try:
        yield
    finally:
        os.environ[_PARALLELISM] = "false"
