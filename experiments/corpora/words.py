"""What a word is: in validation sentences, in word swap, in the words of a score."""

from __future__ import annotations

import re

CHINESE = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
"""A Chinese character is a word by itself, as in BERT's tokenizer: Chinese text has no spaces."""
WORD = re.compile(rf"[{CHINESE}]|[^\s{CHINESE}]+")


def words_of(text: str) -> list[tuple[int, int]]:
    """The spans of the words of a text: runs without white space; each Chinese character is a word by itself."""
    return [match.span() for match in WORD.finditer(text)]
