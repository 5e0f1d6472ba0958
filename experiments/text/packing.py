"""Packing: how the documents of a corpus become blocks of exactly T tokens, which all runs of a grid share.

The documents of a split, each as [CLS] tokens [SEP], follow each other without padding; the stream is cut
every T tokens, and what is left at its end (fewer than T tokens) is dropped and counted.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sys
from pathlib import Path

import numpy as np
from filelock import FileLock
from tqdm import tqdm

from experiments.corpora.base import Corpus
from experiments.records.durable import file_digest, naming
from experiments.text.packed_blocks import FORMAT, PACKED_SPLITS, PackedBlocks, open_packed_blocks, seal_of
from experiments.text.round_trip import measure_round_trip
from experiments.text.token_stream import token_stream
from experiments.text.tokenizer import Tokenizer, TokenizerConfig

MORE_DOCUMENTS = (
    "give it more text, or cut it into more documents: lines, paragraphs, files or pieces of a certain length "
    "(sample_by of LocalText)"
)


def pack(corpus: Corpus, config: TokenizerConfig, block_length: int, root: str | Path) -> PackedBlocks:
    """Packed blocks of a corpus below `root`: built when absent, opened and verified when there.

    Safe when several processes call it at once (one builds, the others wait), and when one is killed: the
    directory appears whole or not at all.

    Raises:
        ValueError: when the corpus has no document or not one block in a split, or when the packed data that is there
            is damaged.
        OSError: when `root` cannot be written.
    """
    directory = packed_directory(corpus, config, block_length, root)
    if not directory.exists():
        lock = FileLock(directory.with_name(f".{directory.name}.lock"))
        try:
            directory.parent.mkdir(parents=True, exist_ok=True)
            lock.acquire()
        except OSError as error:
            raise OSError(
                f"cannot write packed data below {Path(root).absolute()}: {error}; choose another data root"
            ) from error
        try:
            if not directory.exists():
                with naming(directory):
                    _build(corpus, config, block_length, directory)
        finally:
            lock.release()
    return open_packed_blocks(directory)


def packed_directory(corpus: Corpus, config: TokenizerConfig, block_length: int, root: str | Path) -> Path:
    """Where `pack` puts the blocks of a corpus.

    Raises:
        ValueError: when block_length is less than 2.
    """
    if block_length < 2:
        raise ValueError(f"block_length={block_length} must be at least 2")
    kind = corpus.default_tokenizer if config.kind == "auto" else config.kind
    label = Path(kind).stem if Path(kind).is_file() else f"{kind}{config.size}"
    key = packing_key(corpus, config, block_length)
    return Path(root) / f"{type(corpus).__name__.lower()}-{label}-T{block_length}-{key[:12]}"


def packing_key(corpus: Corpus, config: TokenizerConfig, block_length: int) -> str:
    """sha256 of all that determines the packed blocks."""
    if Path(config.kind).is_file():
        tokenizer: object = file_digest(Path(config.kind))
    else:
        kind = corpus.default_tokenizer if config.kind == "auto" else config.kind
        tokenizer = (kind, config.size, config.train_characters)
    return hashlib.sha256(repr((FORMAT, corpus.fingerprint(), tokenizer, block_length)).encode()).hexdigest()


def _build(corpus: Corpus, config: TokenizerConfig, block_length: int, directory: Path) -> None:
    """Writes beside the target and renames. Whoever holds the lock may clear what a killed process left."""
    partial = directory.with_name(f".{directory.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir()
    try:
        tokenizer = Tokenizer.build(config, corpus.default_tokenizer, corpus.documents("train"))
        tokenizer.save(partial / "tokenizer.json")
        dtype = np.dtype("<u2" if tokenizer.size <= 2**16 else "<u4")
        splits = {
            split: _write(corpus, split, tokenizer, dtype, block_length, partial / f"{split}.bin")
            for split in PACKED_SPLITS
        }
        if corpus.empty_cells:
            print(f"{type(corpus).__name__}: {corpus.empty_cells:,} rows without text are left out", file=sys.stderr)
        train = splits["train"]
        round_trip = measure_round_trip(tokenizer, corpus.documents("validation"))
        assert round_trip is not None  # _write refuses a split without documents
        remarks = [str(round_trip), *(f"the tokenizer: {change}" for change in tokenizer.changes)]
        print("\n".join(remarks), file=sys.stderr)
        manifest = {
            "format": FORMAT,
            "corpus": type(corpus).__name__,
            "corpus_fingerprint": corpus.fingerprint(),
            "tokenizer_fingerprint": tokenizer.fingerprint,
            "tokenizer_changes": tokenizer.changes,
            "round_trip": round_trip.record(),
            "vocabulary_size": tokenizer.size,
            "block_length": block_length,
            "dtype": dtype.str,
            "characters_per_token": train["characters"] / max(1, train["tokens"] - train["specials"]),
            "splits": splits,
            "empty_cells": corpus.empty_cells,
            "files": {
                path.name: {"bytes": path.stat().st_size, "sha256": file_digest(path)}
                for path in sorted(partial.iterdir())
            },
        }
        text = json.dumps({**manifest, "seal": seal_of(manifest)}, indent=2)
        (partial / "manifest.json").write_text(text + "\n", encoding="utf-8")
        os.replace(partial, directory)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _write(
    corpus: Corpus, split: str, tokenizer: Tokenizer, dtype: np.dtype, block_length: int, path: Path
) -> dict[str, int]:
    """Streams one split to its file; counts cover the whole stream, the dropped tail included."""
    counts = {"documents": 0, "characters": 0, "tokens": 0, "specials": 0, "unknown": 0}
    progress = tqdm(desc=f"packing {split}", unit="char", unit_scale=True, disable=None, delay=5)
    with open(path, "wb") as file, progress:
        for chunk in token_stream(corpus.documents(split), tokenizer, dtype):
            chunk.tokens.tofile(file)
            for name in counts:
                counts[name] += len(chunk.tokens) if name == "tokens" else getattr(chunk, name)
            progress.update(chunk.characters)
        blocks, tail = divmod(counts["tokens"], block_length)
        file.truncate(blocks * block_length * dtype.itemsize)
    name = type(corpus).__name__
    if not counts["documents"]:
        raise ValueError(
            f"{name} has no document in its {split} split: a document lies in one split as a whole, and there are too "
            f"few of them; {MORE_DOCUMENTS}"
        )
    if not blocks:
        raise ValueError(
            f"the {split} split of {name} has {counts['tokens']} tokens, too few for a block of "
            f"{block_length}; make block_length smaller or the split's share of the text larger, or {MORE_DOCUMENTS}"
        )
    return {**counts, "blocks": blocks, "dropped_tail": tail}
