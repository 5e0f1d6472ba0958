"""What is learned: one encoder, and the objectives that train it."""

from objectives.base import Objective
from objectives.clm import CLM
from objectives.corruption import Corruption
from objectives.encoder import Encoder, EncoderConfig
from objectives.mlm import MLM
from objectives.randomness import EVALUATION_EPOCH, Key, evaluation_key
from objectives.saved import load
from objectives.schedule import Budget, OptimizerConfig
from objectives.view import IGNORE, Answers, Batch, View
from objectives.vocabulary import Vocabulary

__all__ = [
    "CLM",
    "EVALUATION_EPOCH",
    "IGNORE",
    "MLM",
    "Answers",
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
