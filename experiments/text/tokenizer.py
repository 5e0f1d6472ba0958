"""Tokenizers: by character, byte-level BPE or WordPiece trained here, or any tokenizer.json.

What decoding gives back:

  character  the text itself; a character that is not in the vocabulary comes back as [UNK].
  bpe        the text itself, always (one trained elsewhere: characters that it cannot spell come back as [UNK]).
  wordpiece  the text with each run of white space made one space and none at either end; a word with a
             character outside the vocabulary's alphabet (ASCII and the most frequent others, up to a quarter
             of its size) or with more than 1,000 characters comes back as [UNK]; a word that begins with "##"
             or with the name of a special token gets a space after its first character.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from tokenizers import Tokenizer as Backend

from experiments.records.durable import write_text
from experiments.text.backend import LARGEST, own_unknown
from experiments.text.codec import TextCodec
from experiments.text.tokenizer_training import KINDS, SPECIALS, train_backend
from objectives.vocabulary import Vocabulary

# What other projects call the tokens for pad, unknown, cls, sep and mask.
ROLES = {
    "pad": ("[PAD]", "<pad>", "<|pad|>", "<|padding|>"),
    "unknown": ("[UNK]", "<unk>", "<|unk|>"),
    "cls": ("[CLS]", "<s>", "<bos>", "<|begin_of_text|>", "<|startoftext|>", "[BOS]"),
    "sep": ("[SEP]", "</s>", "<eos>", "<|end_of_text|>", "<|endoftext|>", "[EOS]"),
    "mask": ("[MASK]", "<mask>", "<|mask|>"),
}


@dataclass(frozen=True)
class TokenizerConfig:
    """Which tokenizer a corpus is read with.

    Raises:
        ValueError: when the kind is unknown, the size leaves no room beside the special tokens or is above a million.
    """

    kind: str = "auto"
    """auto (character for Chinese, else bpe), character, bpe, wordpiece, or the path of a tokenizer.json. By bpe, texts
    come back from decoding as they were; by character, all but rare characters; by wordpiece, white space is lost but
    for single blanks. Packing measures the share of validation documents that come back, says it and records it."""
    size: int = 4096
    """Largest vocabulary, special tokens included, at most a million; not used for a tokenizer.json."""
    train_characters: int = 100_000_000
    """The tokenizer is trained on the first so many characters of the training split."""

    def __post_init__(self) -> None:
        if self.kind not in ("auto", *KINDS) and not Path(self.kind).is_file():
            raise ValueError(
                f'tokenizer kind "{self.kind}" is neither auto, {", ".join(KINDS)} nor the path of a '
                "tokenizer.json that exists"
            )
        if self.size <= len(SPECIALS):
            raise ValueError(
                f"a vocabulary of {self.size} has no room beside its {len(SPECIALS)} special tokens; "
                f"set the tokenizer's size to more than {len(SPECIALS)}"
            )
        if self.size > LARGEST:
            raise ValueError(
                f"a vocabulary has at most {LARGEST} entries; set the tokenizer's size={self.size} to less"
            )
        if self.train_characters < 1:
            raise ValueError(f"train_characters={self.train_characters} must be positive")


class Tokenizer(TextCodec):
    """A text codec with a token for each role: pad, unknown, cls, sep and mask.

    Raises:
        ValueError: when a role has no token, or two share one.
    """

    def __init__(self, backend: Backend) -> None:
        own = own_unknown(backend)
        self.roles = {
            role: own if role == "unknown" and own is not None else _find(backend, role, names)
            for role, names in ROLES.items()
        }
        if len(set(self.roles.values())) < len(self.roles):
            raise ValueError(f"the tokenizer's special tokens must have distinct ids, but they are {self.roles}")
        marked = {number for number, token in backend.get_added_tokens_decoder().items() if token.special}
        super().__init__(backend, marked | set(self.roles.values()), self.roles["unknown"])

    @classmethod
    def train(cls, kind: str, size: int, texts: Iterable[str]) -> Tokenizer:
        """A tokenizer of kind character, bpe or wordpiece; the same texts give the same one, bit for bit."""
        return cls(train_backend(kind, size, texts))

    @classmethod
    def build(cls, config: TokenizerConfig, default_kind: str, texts: Iterable[str]) -> Tokenizer:
        """The tokenizer that a config describes, trained on the texts or loaded."""
        kind = default_kind if config.kind == "auto" else config.kind
        if kind not in KINDS:
            return cls.load(kind)
        return cls.train(kind, config.size, _capped(texts, config.train_characters))

    @classmethod
    def load(cls, path: str | Path) -> Tokenizer:
        """Reads a tokenizer.json. ValueError when it is missing, broken or without a special token."""
        try:
            backend = Backend.from_str(Path(path).read_text(encoding="utf-8"))
        except Exception as error:  # tokenizers raises bare Exception for a broken file
            raise ValueError(f"cannot read the tokenizer {path}: {error}") from error
        try:
            return cls(backend)
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from error

    def save(self, path: str | Path) -> None:
        """Writes a tokenizer.json that `tokenizers` and `transformers` can read."""
        write_text(Path(path), self.backend.to_str(pretty=True))

    @property
    def fingerprint(self) -> str:
        """sha256 of the tokenizer.json with sorted keys and no white space."""
        canonical = json.dumps(json.loads(self.backend.to_str()), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(canonical.encode()).hexdigest()

    def vocabulary(self, characters_per_token: float | None = None) -> Vocabulary:
        """What an objective has to know about this tokenizer."""
        return Vocabulary(
            size=self.size,
            specials=self.specials,
            unused=self.unused,
            characters_per_token=characters_per_token,
            **self.roles,
        )


def _find(backend: Backend, role: str, names: tuple[str, ...]) -> int:
    for name in names:
        number = backend.token_to_id(name)
        if number is not None:
            return number
    raise ValueError(f"the tokenizer has no {role} token; add one of {', '.join(names)} as a special token")


def _capped(texts: Iterable[str], characters: int) -> Iterator[str]:
    for text in texts:
        yield text[:characters]
        characters -= len(text)
        if characters <= 0:
            return
