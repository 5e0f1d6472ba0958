from objectives.corruption.corruption import Corrupted, Corruption
from objectives.corruption.rate import Drawn, Rate, Scheduled, Stratified
from objectives.corruption.replacement import Replacement
from objectives.corruption.selection import Bernoulli, ExactCount, Selection, Words
from objectives.corruption.spans import Spans

__all__ = [
    "Bernoulli",
    "Corrupted",
    "Corruption",
    "Drawn",
    "ExactCount",
    "Rate",
    "Replacement",
    "Scheduled",
    "Selection",
    "Spans",
    "Stratified",
    "Words",
]
