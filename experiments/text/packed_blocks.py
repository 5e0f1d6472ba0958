"""Packed blocks on disk: blocks of exactly T tokens in memory-mapped files, verified when opened.

A directory of packed blocks holds

  tokenizer.json                how to read the tokens
  train.bin, validation.bin     blocks after each other; uint16, or uint32 where the vocabulary needs it
  manifest.json                 counts, how many texts the tokenizer gives back, what was changed in it, the sizes
                                and sha256 of the other files, and the sha256 of all this
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from experiments.records.durable import file_digest
from experiments.text.round_trip import RoundTrip
from experiments.text.tokenizer import Tokenizer

FORMAT = 2
PACKED_SPLITS = ("train", "validation")


@dataclass(frozen=True)
class PackedBlocks:
    """A directory of packed blocks that has been verified."""

    directory: Path
    manifest: dict[str, Any]

    @property
    def block_length(self) -> int:
        return self.manifest["block_length"]

    @property
    def characters_per_token(self) -> float:
        """Characters of the original text per regular token, over the training split."""
        return self.manifest["characters_per_token"]

    @property
    def round_trip(self) -> RoundTrip:
        """What the tokenizer gives back of the first validation documents."""
        return RoundTrip(**self.manifest["round_trip"])

    @property
    def tokenizer_changes(self) -> tuple[str, ...]:
        """How texts were read otherwise than by the tokenizer.json that was given, in words."""
        return tuple(self.manifest["tokenizer_changes"])

    @property
    def fingerprint(self) -> str:
        """sha256 of the manifest, and so of the tokenizer and of every block."""
        return seal_of(self.manifest)

    @cached_property
    def tokenizer(self) -> Tokenizer:
        return Tokenizer.load(self.directory / "tokenizer.json")

    def block_count(self, split: str) -> int:
        """Number of blocks of "train" or "validation"."""
        return self.manifest["splits"][split]["blocks"]

    def blocks(self, split: str) -> np.ndarray:
        """The blocks, (block_count, T), read-only and mapped from the file."""
        shape = (self.block_count(split), self.block_length)
        return np.memmap(self.directory / f"{split}.bin", np.dtype(self.manifest["dtype"]), "r", shape=shape)


def open_packed_blocks(directory: str | Path) -> PackedBlocks:
    """Opens packed blocks and verifies every file against the manifest.

    Raises:
        ValueError: when a file is missing, cut or altered; the message names it and the fix.
    """
    directory = Path(directory)
    try:
        manifest = json.loads((directory / "manifest.json").read_text(encoding="utf-8"))
        sealed = manifest.pop("seal") == seal_of(manifest)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise _damage(directory, "manifest.json", f"{type(error).__name__}: {error}") from error
    if not sealed or manifest["format"] != FORMAT:
        raise _damage(directory, "manifest.json", "was altered, or has another version")
    for name, expected in manifest["files"].items():
        path = directory / name
        if not path.is_file():
            raise _damage(directory, name, "is missing")
        if path.stat().st_size != expected["bytes"]:
            raise _damage(directory, name, f"has {path.stat().st_size} bytes instead of {expected['bytes']}")
        if file_digest(path) != expected["sha256"]:
            raise _damage(directory, name, "was altered: its sha256 is not the manifest's")
    return PackedBlocks(directory, manifest)


def seal_of(manifest: dict[str, Any]) -> str:
    """sha256 of a manifest."""
    return hashlib.sha256(json.dumps(manifest, sort_keys=True).encode()).hexdigest()


def _damage(directory: Path, name: str, what: str) -> ValueError:
    return ValueError(f"packed data is damaged: {directory / name}: {what}; delete {directory} to have it packed again")
