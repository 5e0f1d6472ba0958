"""What of a text a tokenizer gives back: measured on the first documents that a corpus validates on."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass

from experiments.text.codec import TextCodec, is_visible

MOST_DOCUMENTS = 1_000
MOST_CHARACTERS = 1_000_000
"""Characters of all documents together; one that goes beyond is cut there."""


@dataclass(frozen=True)
class RoundTrip:
    """How many documents are the same after encoding and decoding, and how many characters have no token."""

    documents: int
    exact: int
    """Documents that decoding gives back as they were."""
    characters: int
    """Visible characters of the documents: no white space, accents, control characters."""
    unspelled: int
    """Those for which an unknown token stands, or none."""

    @property
    def share(self) -> float:
        """Share of the documents that come back exactly."""
        return self.exact / self.documents

    def record(self) -> dict[str, int]:
        return asdict(self)

    def __str__(self) -> str:
        text = f"the tokenizer gives back {self.exact} of {self.documents} validation documents exactly"
        if self.exact == self.documents:
            return text
        return (
            f"{text} ({100 * self.share:.3g} %): the others lose white space, case or accents, or characters without a "
            f"token ({100 * self.unspelled / max(1, self.characters):.3g} % of the visible ones)"
        )


def measure_round_trip(tokenizer: TextCodec, documents: Iterable[str]) -> RoundTrip | None:
    """The round trip of at most MOST_DOCUMENTS and MOST_CHARACTERS; None where there is no document."""
    tried = exact = characters = unspelled = 0
    left = MOST_CHARACTERS
    for document in documents:
        text = document[:left]
        ids, spans, _ = tokenizer.encode(text)
        tried += 1
        exact += tokenizer.decode(ids) == text
        characters += sum(map(is_visible, text))
        spelled = [span for number, span in zip(ids, spans, strict=True) if not tokenizer.unknown([number])]
        unspelled += tokenizer.left_out(text, spelled)
        left -= len(text)
        if tried == MOST_DOCUMENTS or left <= 0:
            break
    return RoundTrip(tried, exact, characters, unspelled) if tried else None
