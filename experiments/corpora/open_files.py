"""Files of text as their readers need them: decompressed by their suffix, decoded, without a byte-order mark."""

from __future__ import annotations

import codecs
import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import IO, Any, NamedTuple

from experiments.records.durable import REMEDIES

COMPRESSIONS = {".gz": "gzip", ".zst": "zstd"}


class Source(NamedTuple):
    """A file to read."""

    name: str
    """What messages call it; its suffixes say what it holds and how it is compressed."""
    open: Callable[[], IO[bytes]]


def local_source(path: Path) -> Source:
    return Source(str(path), lambda: open(path, "rb"))


def suffix_of(name: str) -> str:
    """The suffix of a file's name in lower case, less that of its compression."""
    path = PurePosixPath(name.lower())
    return (path.with_suffix("") if path.suffix in COMPRESSIONS else path).suffix


@contextmanager
def opened(source: Source) -> Iterator[IO[bytes]]:
    """The bytes of a file, decompressed.

    Raises:
        ValueError: when it cannot be read, also from inside the block; the message names the file.
        OSError: when that is no fault of the file.
    """
    import pyarrow

    compression = COMPRESSIONS.get(PurePosixPath(source.name.lower()).suffix)
    try:
        with source.open() as file:
            if compression is None:
                yield file
            else:
                with pyarrow.CompressedInputStream(pyarrow.PythonFile(file, "r"), compression) as unpacked:
                    yield unpacked
    except (pyarrow.ArrowException, OSError) as error:
        # A fault of the disk, or of the permissions, says nothing of the file: what reads it can be tried again.
        kind = OSError if getattr(error, "errno", None) in REMEDIES else ValueError
        raise kind(f"cannot read {source.name}: {error}") from error


@contextmanager
def decoded(source: Source, encoding: str, newline: str | None = None) -> Iterator[IO[str]]:
    """The text of a file, line ends as of `open`. Raises ValueError, naming the line, when it is not so encoded."""
    with opened(source) as file:
        stream = io.BufferedReader(file)  # type: ignore[type-var]
        _skip_byte_order_mark(stream, encoding)
        text = io.TextIOWrapper(stream, encoding, newline=newline)
        try:
            yield text
        except UnicodeError as error:
            line = _undecodable_line(source, encoding)
            reason = error.reason if isinstance(error, UnicodeDecodeError) else error
            raise ValueError(
                f"{source.name} line {line} is not {encoding} ({reason}); name the file's encoding, or convert it"
            ) from error


def check_encoding(encoding: str) -> None:
    try:
        "a".encode(encoding)
    except (LookupError, UnicodeError) as error:
        raise ValueError(f'"{encoding}" is no encoding of text ({error}); name one such as utf-8 or latin-1') from error


def _skip_byte_order_mark(stream: io.BufferedReader[Any], encoding: str) -> None:
    try:
        mark = "\ufeff".encode(encoding)
    except UnicodeEncodeError:
        return
    if stream.peek(len(mark))[: len(mark)] == mark:
        stream.read(len(mark))


def _undecodable_line(source: Source, encoding: str) -> int:
    """The number of the first line that cannot be decoded. A decoder that reads ahead does not know it."""
    decoder = codecs.getincrementaldecoder(encoding)()
    line = 1
    with opened(source) as file:
        while raw := file.read(2**16):
            try:
                line += decoder.decode(raw).count("\n")
            except UnicodeError as error:
                if not isinstance(error, UnicodeDecodeError):  # such as UTF-16 that does not begin with its mark
                    return line
                return line + error.object[: error.start].decode(error.encoding, "ignore").count("\n")
    return line
