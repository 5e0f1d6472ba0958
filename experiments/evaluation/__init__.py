"""What a model is measured by: shared metrics, one class each."""

from experiments.evaluation.baselines import BagOfTokens, BayesAccuracy, MajorityClass, UntrainedEncoder
from experiments.evaluation.cloze import Cloze
from experiments.evaluation.likelihood import Likelihood
from experiments.evaluation.linear_probe import LinearProbe
from experiments.evaluation.metric import NotMeasured, SharedMetric
from experiments.evaluation.tasks.minimal_pairs import MinimalPairs
from experiments.evaluation.tasks.task_probe import TaskProbe
from experiments.evaluation.validation_loss import ValidationLoss
from experiments.evaluation.word_swap import WordSwap

__all__ = [
    "BagOfTokens",
    "BayesAccuracy",
    "Cloze",
    "Likelihood",
    "LinearProbe",
    "MajorityClass",
    "MinimalPairs",
    "NotMeasured",
    "SharedMetric",
    "TaskProbe",
    "UntrainedEncoder",
    "ValidationLoss",
    "WordSwap",
]
