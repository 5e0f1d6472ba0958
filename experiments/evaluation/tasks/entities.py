"""Entities in BIO tags, as conlleval and seqeval (Nakayama 2018) find them in any sequence, well formed or not."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

BIO = re.compile(r"O|[BI](-.*)?")
Entity = tuple[str, int, int]
"""Type, and the words [start, end)."""


def are_bio(tags: Iterable[str]) -> bool:
    """Whether tags mark entities: O, B-type and I-type, and not O alone."""
    found = set(tags)
    return bool(found - {"O"}) and all(BIO.fullmatch(tag) for tag in found)


def entities(tags: Sequence[str]) -> Iterator[Entity]:
    """The entities of a sequence. One begins at B, and at an I that no entity of its type goes on to."""
    start, open_kind = 0, None
    for place, tag in enumerate([*tags, "O"]):
        mark, _, kind = tag.partition("-")
        if open_kind is not None and (mark != "I" or kind != open_kind):
            yield open_kind, start, place
            open_kind = None
        if mark != "O" and open_kind is None:
            start, open_kind = place, kind


def entity_counts(named: Sequence[str], true: Sequence[str]) -> tuple[int, int]:
    """Entities that are in both sequences of tags, and those of the one and of the other together."""
    ours, theirs = set(entities(named)), set(entities(true))
    return len(ours & theirs), len(ours) + len(theirs)
