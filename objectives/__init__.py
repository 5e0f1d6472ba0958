"""What is learned: one encoder, and the objectives that train it."""

from objectives.base import Objective
from objectives.clm import CLM
from objectives.construction.class_paths import allow_imports
from objectives.corruption import (
    Bernoulli,
    Corruption,
    Drawn,
    ExactCount,
    Rate,
    Scheduled,
    Selection,
    Spans,
    Stratified,
    Words,
)
from objectives.encoder.config import EncoderConfig
from objectives.encoder.model import Encoder
from objectives.hybrid import Hybrid
from objectives.inference.checkpoint import load_objective
from objectives.masked_diffusion import MaskedDiffusion
from objectives.masked_next_token import MaskedNextToken
from objectives.mlm import MLM
from objectives.phased import Phase, Phased
from objectives.prefix_lm import PrefixLM
from objectives.settings import SharedSettings
from objectives.training.divergence import Diverged
from objectives.training.optimizer import Budget, OptimizerConfig
from objectives.training.randomness import EVALUATION_EPOCH, Key, evaluation_key, uniform
from objectives.traits import Traits
from objectives.view import IGNORE, Batch, Channel, Noise, Past, PastOrNoise, Predictions, View
from objectives.vocabulary import Vocabulary

__all__ = [
    "CLM",
    "EVALUATION_EPOCH",
    "IGNORE",
    "MLM",
    "Batch",
    "Bernoulli",
    "Budget",
    "Channel",
    "Corruption",
    "Diverged",
    "Drawn",
    "Encoder",
    "EncoderConfig",
    "ExactCount",
    "Hybrid",
    "Key",
    "MaskedDiffusion",
    "MaskedNextToken",
    "Noise",
    "Objective",
    "OptimizerConfig",
    "Past",
    "PastOrNoise",
    "Phase",
    "Phased",
    "Predictions",
    "PrefixLM",
    "Rate",
    "Scheduled",
    "Selection",
    "SharedSettings",
    "Spans",
    "Stratified",
    "Traits",
    "View",
    "Vocabulary",
    "Words",
    "allow_imports",
    "evaluation_key",
    "load_objective",
    "uniform",
]
