"""What is learned: one encoder, and the objectives that train it."""

from objectives.base import IGNORE, Batch, Objective, View, load
from objectives.clm import CLM
from objectives.corruption import Corruption
from objectives.encoder import Encoder, EncoderConfig
from objectives.mlm import MLM
from objectives.randomness import EVALUATION_EPOCH, Key, evaluation_key
from objectives.schedule import Budget, OptimizerConfig
from objectives.vocabulary import Vocabulary

__all__ = [
    "CLM",
    "EVALUATION_EPOCH",
    "IGNORE",
    "MLM",
    "Batch",
    "Budget",
    "Corruption",
    "Encoder",
    "EncoderConfig",
    "Key",
    "Objective",
    "OptimizerConfig",
    "View",
    "Vocabulary",
    "evaluation_key",
    "load",
]
