"""How a sentence that is too long for a model is cut into overlapping windows."""

from __future__ import annotations

from typing import Literal, NamedTuple


class Window(NamedTuple):
    """Tokens [start, end) are read together; those of [first, last) are scored there."""

    start: int
    end: int
    first: int
    last: int


def windows(length: int, room: int, context: Literal["past", "both"]) -> list[Window]:
    """Windows of at most `room` tokens, each half a window further, the last one flush with the end.

    Each token is scored in the window that shows most of its context: of its past, or of the shorter of both sides.
    One window for a sentence that fits, none for an empty one.
    """
    if length == 0:
        return []
    starts = [*range(0, length - room, max(1, room // 2)), max(0, length - room)]
    ends = [min(length, start + room) for start in starts]
    overlaps = list(zip(starts[1:], ends[:-1], strict=True))
    cuts = [0, *(end if context == "past" else (start + end) // 2 for start, end in overlaps), length]
    return [Window(*both) for both in zip(starts, ends, cuts[:-1], cuts[1:], strict=True)]
