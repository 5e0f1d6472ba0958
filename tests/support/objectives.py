"""Tiny objectives and batches."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Sequence
from dataclasses import is_dataclass
from typing import Any, get_type_hints

import torch

import objectives
from objectives import Batch, Budget, EncoderConfig, Objective, OptimizerConfig, Vocabulary
from objectives.inference.language_model import ObjectiveLanguageModel
from objectives.inference.scoring import Scores, score_sentences

VOCABULARY = Vocabulary(size=40, pad=0, unknown=1, cls=2, sep=3, mask=4, specials=(0, 1, 2, 3, 4, 17))
ENCODER = EncoderConfig(width=16, depth=2, heads=2, max_length=64)
FALSE_ALARM = 1e-6
"""Probability with which a statistical test fails although all is well."""


def all_objectives() -> list[type[Objective]]:
    """Every concrete objective of the package, so that a new one is tested without an edit."""
    for module in pkgutil.walk_packages(objectives.__path__, "objectives."):
        importlib.import_module(module.name)

    def below(cls: type) -> list[type]:
        return [cls, *(sub for child in cls.__subclasses__() for sub in below(child))]

    found = [cls for cls in below(Objective) if not inspect.isabstract(cls)]
    return sorted((cls for cls in found if cls.__module__.startswith("objectives.")), key=lambda cls: cls.__name__)


def build(cls: type[Objective], **changes: Any) -> Objective:
    """An objective with tiny sizes; the settings of its class take their defaults."""
    arguments: dict[str, Any] = {
        "encoder": ENCODER,
        "vocabulary": VOCABULARY,
        "budget": Budget(tokens=10_000),
        "optimizer": OptimizerConfig(),
        "seed": 3,
    }
    hints = get_type_hints(cls.__init__)
    for name, parameter in inspect.signature(cls).parameters.items():
        if name not in arguments and parameter.default is parameter.empty and is_dataclass(hints[name]):
            arguments[name] = hints[name]()
    objective = cls(**(arguments | changes))
    enlarge(objective)
    return objective


def enlarge(module: torch.nn.Module) -> None:
    """Make the small initial weights eight times as large, so that the context of a token changes the output."""
    with torch.no_grad():
        for parameter in module.parameters():
            if parameter.dim() == 2:
                parameter *= 8


def make_batch(blocks: int = 8, length: int = 32, seed: int = 0) -> Batch:
    """Blocks with two documents each, the first without its beginning, as packing leaves them."""
    generator = torch.Generator().manual_seed(seed)
    ranks = torch.randint(0, VOCABULARY.regular, (blocks, length), generator=generator)
    tokens = VOCABULARY.nth_regular(ranks)
    cut = length // 3
    tokens[:, cut], tokens[:, cut + 1] = VOCABULARY.sep, VOCABULARY.cls
    tokens[:, 2] = VOCABULARY.unknown
    return Batch(tokens, torch.full((blocks,), 5), torch.arange(100, 100 + blocks))


def log_softmax(objective: Objective, inputs: list[int], position: int) -> torch.Tensor:
    """Log-probabilities (V,) at one position, by a separate forward pass."""
    with torch.no_grad():
        hidden = objective.encoder(torch.tensor([inputs]), objective.feature_attention)
        return objective.encoder.decode(objective.encoder.head(hidden[0, position])).double().log_softmax(-1)


def own_scores(objective: Objective, sentences: Sequence[Sequence[int]]) -> list[Scores]:
    """Scores of sentences by the objective's default method."""
    return score_sentences(ObjectiveLanguageModel(objective), sentences, objective.sentence_scores[0])
