"""Corpora, addressed by class path such as experiments.corpora.KingJames. README.md is the card of each."""

from experiments.corpora.base import Corpus, Example, LabelledTask, SplitByHash
from experiments.corpora.hub import HubText
from experiments.corpora.kingjames import KingJames
from experiments.corpora.local import LocalText
from experiments.corpora.peoplesdaily import PeoplesDaily

__all__ = ["Corpus", "Example", "HubText", "KingJames", "LabelledTask", "LocalText", "PeoplesDaily", "SplitByHash"]
