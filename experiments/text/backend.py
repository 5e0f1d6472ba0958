"""A `tokenizers` backend made fit to measure with: nothing in it is random, and no text vanishes in it."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from tokenizers import Tokenizer as Backend
from tokenizers import pre_tokenizers

LARGEST = 1_000_000
"""Largest vocabulary; the largest ones in use have about 260,000 entries."""
DROPPED = "[DROPPED]"
"""What stands for text that would vanish, in a backend without an unknown token; no vocabulary has an id for it."""


class Settled(NamedTuple):
    """A copy of a backend without dropout, truncation and padding, whose model leaves no character out."""

    backend: Backend
    size: int
    """1 + the largest id of the original."""
    unused: tuple[int, ...]
    """Ids below `size` that no token of the original has, in ascending order."""
    unknown: int | None
    """The id of text that cannot be encoded; None where there is none: then such text becomes the id `size`."""
    changes: tuple[str, ...]
    """What was changed that decides how a text is read, in words."""


def settle(backend: Backend, unknown: int | None) -> Settled:
    """A copy of a backend that reads each text in one way, and whole.

    A BPE without an unknown token leaves out the characters that it cannot spell, unless it spells all bytes: here
    they become the unknown token. What a normalizer or pre-tokenizer takes out stays out.

    Args:
        backend: the tokenizer.
        unknown: the id of what cannot be encoded, where the model itself names none.

    Raises:
        ValueError: when the ids go beyond LARGEST.
    """
    ids = set(backend.get_vocab(with_added_tokens=True).values())
    size = 1 + max(ids, default=-1)
    if size > LARGEST:
        raise ValueError(f"the tokenizer's ids go up to {size - 1}, but a vocabulary has at most {LARGEST} entries")
    state = json.loads(backend.to_str())
    state["truncation"] = state["padding"] = None
    model, changes = state["model"], []
    if model.get("dropout"):
        changes.append(f"BPE dropout of {model['dropout']:g} is switched off: a text always has the same tokens")
        model["dropout"] = None
    own = _own_unknown(model)
    if own is not None:
        unknown = own
    elif not _spells_everything(state):
        name = DROPPED if unknown is None else str(backend.id_to_token(unknown))
        if _name_unknown(model, name, size if unknown is None else unknown) and unknown is not None:
            changes.append(f"text that it cannot spell becomes {name}")
    unused = tuple(sorted(set(range(size)) - ids))
    return Settled(Backend.from_str(json.dumps(state)), size, unused, unknown, tuple(changes))


def own_unknown(backend: Backend) -> int | None:
    """The id that the backend's model itself gives to text that it cannot encode; None when it has none."""
    return _own_unknown(json.loads(backend.to_str())["model"])


def _own_unknown(model: dict[str, Any]) -> int | None:
    return model.get("unk_id") if model["type"] == "Unigram" else model["vocab"].get(model.get("unk_token"))


def _spells_everything(state: dict[str, Any]) -> bool:
    """Whether the model has a token for every byte, and texts come to it as bytes."""
    vocabulary = state["model"]["vocab"]
    if state["model"].get("byte_fallback"):
        names = {piece for piece, _ in vocabulary} if isinstance(vocabulary, list) else vocabulary
        return all(f"<0x{byte:02X}>" in names for byte in range(256))
    as_bytes = '"ByteLevel"' in json.dumps([state["normalizer"], state["pre_tokenizer"]])
    return as_bytes and all(character in vocabulary for character in pre_tokenizers.ByteLevel.alphabet())


def _name_unknown(model: dict[str, Any], name: str, number: int) -> bool:
    """Makes a token the one for text that the model cannot encode; False where it must stay an error instead."""
    if model["type"] == "Unigram":
        if number >= len(model["vocab"]) or model["vocab"][number][0] != name:
            return False
        model["unk_id"] = number
        return True
    if name == DROPPED and model["type"] != "BPE":  # the others refuse a text rather than leave something out
        return False
    model["vocab"].setdefault(name, number)
    model["unk_token"] = name
    return True
