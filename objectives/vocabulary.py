"""What an objective needs to know of a tokenizer."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class Vocabulary:
    """Ids run from 0 to size - 1; the special and the unused ones are never masked, never drawn and never scored.

    Raises:
        ValueError: when the ids do not fit the size, when two roles share an id (a shared pad and end token loses
            the supervision of the end, huggingface/transformers#23530), or when no regular id is left.
    """

    size: int
    """Number of ids, special ones included."""
    pad: int
    """Id of [PAD]: fills up short rows; never a target."""
    unknown: int
    """Id of [UNK]: a piece of text that the tokenizer cannot encode."""
    cls: int
    """Id of [CLS]: the first token of each document; the beginning of sentence of CLM."""
    sep: int
    """Id of [SEP]: the last token of each document; the end of sentence of CLM."""
    mask: int
    """Id of [MASK]: replaces tokens that MLM predicts."""
    specials: tuple[int, ...]
    """All special ids in ascending order, the five above among them."""
    characters_per_token: float | None = None
    """Mean number of characters of the original text per regular token, over the training split; None where tokens
    stand for no text, or that is not known."""
    unused: tuple[int, ...] = ()
    """Ids that no token has, in ascending order: holes in the numbering of a tokenizer."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "specials", tuple(self.specials))
        object.__setattr__(self, "unused", tuple(self.unused))
        roles = {
            "pad": self.pad,
            "unknown": self.unknown,
            "cls": self.cls,
            "sep": self.sep,
            "mask": self.mask,
        }
        if len(set(roles.values())) < len(roles):
            raise ValueError(f"the special tokens must have distinct ids, but got {roles}")
        if not set(roles.values()) <= set(self.specials) or list(self.specials) != sorted(set(self.specials)):
            raise ValueError(f"specials must list every special id once, in ascending order: {self.specials}, {roles}")
        if self.size <= len(self.specials):
            raise ValueError(
                f"a vocabulary of {self.size} has no room besides its {len(self.specials)} special tokens; "
                f"set the tokenizer's size to more than {len(self.specials)}"
            )
        if self.specials[0] < 0 or self.specials[-1] >= self.size:
            raise ValueError(f"special ids {self.specials} do not fit a vocabulary of {self.size}")
        if set(self.unused) & set(self.specials) or list(self.unused) != sorted(set(self.unused)):
            raise ValueError("unused must list ids that are not special, each once, in ascending order")
        if self.unused and (self.unused[0] < 0 or self.unused[-1] >= self.size):
            raise ValueError(f"unused ids {self.unused[0]} to {self.unused[-1]} do not fit a vocabulary of {self.size}")
        if self.regular < 1:
            raise ValueError("the tokenizer has no token besides its special ones; use another")

    @property
    def regular(self) -> int:
        """Number of ids of tokens that are not special."""
        return self.size - len(self.specials) - len(self.unused)

    def nth_regular(self, rank: Tensor) -> Tensor:
        """The regular ids of the given ranks (0 to `regular` - 1), in ascending order of id; same shape."""
        others = torch.tensor(sorted((*self.specials, *self.unused)), device=rank.device, dtype=rank.dtype)
        # In front of the i-th other id (from 0) there are its value less i regular ones: of smaller rank than it.
        regular_before = others - torch.arange(len(others), device=rank.device, dtype=rank.dtype)
        return rank + torch.searchsorted(regular_before, rank.contiguous(), right=True)

    def is_special(self, tokens: Tensor) -> Tensor:
        """True where a token is special; same shape."""
        return torch.isin(tokens, torch.tensor(self.specials, device=tokens.device, dtype=tokens.dtype))
