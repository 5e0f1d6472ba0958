"""A training whose loss or gradient is no number any more has ended: nothing it does from then on means anything."""

from __future__ import annotations


class Diverged(Exception):
    """The training loss or the norm of the gradient is not finite; the message says which. The weights still are."""
