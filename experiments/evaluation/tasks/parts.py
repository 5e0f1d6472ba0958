"""The parts of a task share no text with each other, nor with what was trained on: checked by hashes of whole texts.

A document that has a text within it among others is not found: it is no text of its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from experiments.corpora.labelled import LabelledText
from experiments.data.evaluation_inputs import hashes

Overlap = Literal["error", "drop"]
ORDER = ("test", "validation", "train")
"""A text that is in several parts stays in the first of these."""
PRETRAINING = "the pretraining text"


def check_overlap(overlap: str) -> None:
    if overlap not in get_args(Overlap):
        raise ValueError(f'overlap="{overlap}" must be {" or ".join(get_args(Overlap))}')


def disjoint(
    parts: Mapping[str, Sequence[LabelledText]], documents_N: NDArray[np.uint64], overlap: Overlap
) -> tuple[dict[str, list[LabelledText]], list[str]]:
    """The parts without what they share, and in words how many texts were left out of which.

    Args:
        parts: by name, of those in ORDER.
        documents_N: hashes of the documents that were trained on; a pair shares what one of its texts shares.
        overlap: whether what is shared is an error, or left out.

    Raises:
        ValueError: when something is shared and that is an error; the message has the count and an example.
    """
    kept: dict[str, list[LabelledText]] = {}
    owners: dict[str, str] = {}
    remarks = []
    for part in (one for one in ORDER if one in parts):
        seen = _seen(parts[part], documents_N)
        shared = [PRETRAINING if seen[n] else owners.get(_key(one)) for n, one in enumerate(parts[part])]
        for other, count in Counter(one for one in shared if one is not None).items():
            if overlap == "error":
                example = parts[part][shared.index(other)].texts[0]
                raise ValueError(
                    f"{count} of the {len(shared)} texts of {part} are in {other} too, such as {example[:60]!r}; give "
                    f"other files, or set overlap to drop, which leaves them out of {part}"
                )
            remarks.append(f"{count} texts of {part} are left out because they are in {other} too")
        kept[part] = [one for one, other in zip(parts[part], shared, strict=True) if other is None]
        owners |= {_key(one): part for one in kept[part]}
    return kept, remarks


def _key(one: LabelledText) -> str:
    return hashes(["\n".join(text.strip() for text in one.texts)])[0].item()


def _seen(texts: Sequence[LabelledText], documents_N: NDArray[np.uint64]) -> list[bool]:
    """Whether a document equals each of some texts, or one text of a pair."""
    found = iter(np.isin(hashes(text for one in texts for text in one.texts), documents_N).tolist())
    return [any([next(found) for _ in one.texts]) for one in texts]
