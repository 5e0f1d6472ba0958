"""Blocks of tokens, packed from text or generated: an endless training stream, and validation blocks in fixed order."""

from experiments.data.base import BlockData
from experiments.data.generated import GeneratedData
from experiments.data.text import TextData

__all__ = ["BlockData", "GeneratedData", "TextData"]
