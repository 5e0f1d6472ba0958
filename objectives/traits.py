"""What an objective says of itself, for all who deal with objectives without knowing them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal


@dataclass(frozen=True)
class Traits:
    """An objective in the records of its runs, and for those who evaluate, score and export it.

    Raises:
        ValueError: when the attention is another, or a factor is no finite number, or not in words.
    """

    name: str
    """What the records call it."""
    question: str
    """What its own loss asks of a model: losses of equal questions can be compared."""
    attention: Literal["causal", "bidirectional"]
    """That under which the frozen encoder reads clean text, for its features."""
    scores: tuple[str, ...] = ()
    """The methods of `objectives.inference.scoring` by which it scores sentences, the default first. It fills and
    generates as that one reads: chain_rule from left to right, the others both ways."""
    mask_shift: int = 0
    """How many positions before a masked token its prediction stands: 0, or 1 where each position predicts the next."""
    huggingface: str | None = None
    """The class of `transformers` with the same architecture and task; None if there is none."""
    numeric: Mapping[str, float] = field(default_factory=dict)
    """Its numeric factors by name, such as {"mask rate": 0.15}."""
    categorical: Mapping[str, str] = field(default_factory=dict)
    """Its categorical factors by name, such as {"corruption mix": "80/10/10"}."""

    def __post_init__(self) -> None:
        if self.attention not in ("causal", "bidirectional"):
            raise ValueError(f"attention of {self.name} must be causal or bidirectional, but is {self.attention!r}")
        for name, number in self.numeric.items():
            if isinstance(number, bool) or not isinstance(number, int | float) or not math.isfinite(number):
                raise ValueError(f"numeric factor {name} of {self.name} must be a finite number, but is {number!r}")
        for name, words in self.categorical.items():
            if not isinstance(words, str) or not words.strip():
                raise ValueError(f"categorical factor {name} of {self.name} must be in words, but is {words!r}")
        if twice := sorted(self.numeric.keys() & self.categorical.keys()):
            raise ValueError(f"factors of {self.name} must be numeric or categorical, but {', '.join(twice)} is both")

    def record(self) -> dict[str, Any]:
        """As plain values for run.json: name and attention, and the rest under "traits"."""
        plain = asdict(self) | {"scores": list(self.scores)}
        return {"objective": plain.pop("name"), "attention": plain.pop("attention"), "traits": plain}
