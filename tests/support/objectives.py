"""Tiny objectives and batches."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Sequence
from dataclasses import is_dataclass, replace
from types import SimpleNamespace
from typing import Any

import torch

import objectives
from objectives import Batch, Budget, EncoderConfig, Objective, OptimizerConfig, Vocabulary
from objectives.construction.identity import REQUIRED, constructor_parameters
from objectives.inference.language_model import ObjectiveLanguageModel
from objectives.inference.scoring import Scores, score_sentences
from objectives.lightning_module import TrainingModule

VOCABULARY = Vocabulary(size=40, pad=0, unknown=1, cls=2, sep=3, mask=4, specials=(0, 1, 2, 3, 4, 17))
HOLES = replace(VOCABULARY, unused=(5, 6, 7, 16, 20, 38, 39))
"""One in whose numbering there are ids that no token has."""
ENCODER = EncoderConfig(width=16, depth=2, heads=2, max_length=64)
TINY: dict[str, Any] = {
    "encoder": ENCODER,
    "vocabulary": VOCABULARY,
    "budget": Budget(tokens=10_000),
    "optimizer": OptimizerConfig(),
    "seed": 3,
}
"""The settings that all objectives share."""
EXAMPLES = "tests.examples"
"""Where objectives and parts of them lie as a user's would: outside the packages."""
FALSE_ALARM = 1e-6
"""Probability with which a statistical test fails although all is well."""


def all_objectives(with_defaults: bool = True) -> list[type[Objective]]:
    """Every concrete objective of the package and of the examples, so that a new one is tested without an edit.

    Args:
        with_defaults: leave out those that `build` cannot make without being given a setting of their own.
    """
    for package in (objectives, importlib.import_module(EXAMPLES)):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            importlib.import_module(module.name)

    def below(cls: type) -> list[type]:
        return [cls, *(sub for child in cls.__subclasses__() for sub in below(child))]

    found = [cls for cls in below(Objective) if not inspect.isabstract(cls)]
    ours = (cls for cls in found if cls.__module__.startswith(("objectives.", f"{EXAMPLES}.")))
    kept = (
        cls for cls in ours if not with_defaults or constructor_parameters(cls).keys() <= default_settings(cls).keys()
    )
    return sorted(kept, key=lambda cls: cls.__name__)


def default_settings(cls: type[Objective]) -> dict[str, Any]:
    """The settings of an objective's class by their defaults; one that has none is left out."""
    settings = {}
    for name, (declared, default) in constructor_parameters(cls).items():
        if name in TINY or default is not REQUIRED:
            settings[name] = TINY.get(name, default)
        elif is_dataclass(declared):
            settings[name] = declared()
    return settings


def build(cls: type[Objective], **changes: Any) -> Objective:
    """An objective with tiny sizes; the settings of its class take their defaults."""
    objective = cls(**(default_settings(cls) | changes))
    enlarge(objective)
    return objective


def attached(
    objective: Objective, accumulate: int = 1, world_size: int = 1, precision: str = "32-true"
) -> TrainingModule:
    """What Lightning trains of an objective, as in the first step of a Trainer."""
    module = TrainingModule(objective)
    module._trainer = SimpleNamespace(  # type: ignore[assignment]
        accumulate_grad_batches=accumulate, world_size=world_size, precision=precision, global_step=0, optimizers=[]
    )
    return module


def enlarge(module: torch.nn.Module) -> None:
    """Make the small initial weights eight times as large, so that the context of a token changes the output."""
    with torch.no_grad():
        for parameter in module.parameters():
            if parameter.dim() == 2:
                parameter *= 8


def make_batch(blocks: int = 8, length: int = 32, seed: int = 0) -> Batch:
    """Blocks with two documents each, the first without its beginning, as packing leaves them; words of any length."""
    generator = torch.Generator().manual_seed(seed)
    ranks = torch.randint(0, VOCABULARY.regular, (blocks, length), generator=generator)
    tokens = VOCABULARY.nth_regular(ranks)
    cut = length // 3
    tokens[:, cut], tokens[:, cut + 1] = VOCABULARY.sep, VOCABULARY.cls
    tokens[:, 2] = VOCABULARY.unknown
    special = VOCABULARY.is_special(tokens)
    starts = special | (torch.rand(blocks, length, generator=generator) < 0.5)
    starts[:, 1:] |= special[:, :-1]
    starts[:, 0] = True
    return Batch(tokens, torch.full((blocks,), 5), torch.arange(100, 100 + blocks), starts)


def rows_of(batch: Batch, rows: Any) -> Batch:
    """Some blocks of a batch, by an index or a slice."""
    return Batch(*(None if field is None else field[rows] for field in batch))


def log_softmax(objective: Objective, inputs: list[int], position: int) -> torch.Tensor:
    """Log-probabilities (V,) at one position, by a separate forward pass."""
    with torch.no_grad():
        hidden = objective.encoder(torch.tensor([inputs]), objective.traits.attention)
        return objective.encoder.decode(objective.encoder.head(hidden[0, position])).double().log_softmax(-1)


def own_scores(objective: Objective, sentences: Sequence[Sequence[int]]) -> list[Scores]:
    """Scores of sentences by the objective's default method."""
    return score_sentences(ObjectiveLanguageModel(objective), sentences, objective.traits.scores[0])
