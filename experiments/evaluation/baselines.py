"""What a probe's score is read against: models that learned nothing of the text, and the best possible guess."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

import torch

from experiments.data.evaluation_inputs import EncodedTask, EncodedText
from experiments.evaluation.features import Pooling, check_use
from experiments.evaluation.linear_probe import (
    SCORES,
    LinearProbe,
    classifier,
    label_count,
    labels_of,
    linear_probe,
    majority_class,
    probe_quantity,
    scores,
)
from experiments.evaluation.metric import SharedMetric
from experiments.evaluation.standard_errors import error_name, mean_of_ratios, with_standard_error
from experiments.records.quantities import Quantity
from objectives import Objective
from objectives.construction.identity import describe_objective
from objectives.inference.checkpoint import build_objective

CONTEXTS = {
    "token": ("best guess from the token alone", ""),
    "past": ("best guess from the past", "causal"),
    "both": ("best guess from both sides", "all"),
}
"""View of the text -> the Bayes accuracy in words, and whose scores it bounds."""


class ProbeBaseline(SharedMetric):
    """A level of both scores of the probe, for every labelled task."""

    constant = True
    name: ClassVar[str]
    """In the names of its quantities."""
    words: ClassVar[str]

    @abstractmethod
    def scores(self, objective: Objective, task: EncodedTask) -> dict[str, float]:
        """accuracy and macro_f1 on the test part of a task, with their standard errors."""

    def quantities(self) -> list[Quantity]:
        return [
            one
            for task in self.data.labelled_tasks
            for kind, unit in SCORES.items()
            for one in with_standard_error(
                Quantity(
                    probe_quantity(task, f"{self.name}_{kind}"), self.words, unit, level_of=probe_quantity(task, kind)
                )
            )
        ]

    def measure(self, objective: Objective) -> dict[str, float]:
        return {
            probe_quantity(task, f"{self.name}_{kind}"): value
            for task in self.data.labelled_tasks
            for kind, value in self.scores(objective, task).items()
        }


class MajorityClass(ProbeBaseline):
    """Always naming the most frequent class of the training part."""

    name, words = "majority", "majority class"

    def scores(self, objective: Objective, task: EncodedTask) -> dict[str, float]:
        return scores([majority_class(task)] * len(labels_of(task.test)), task.test)


class BagOfTokens(ProbeBaseline):
    """The classifier of the probe on the counts of a text's tokens (at token level: on the token itself), without any
    encoder: what a task gives away to a model that knows no word order."""

    name, words = "bag_of_tokens", "bag of tokens"

    def scores(self, objective: Objective, task: EncodedTask) -> dict[str, float]:
        return bag_of_tokens(task, objective.vocabulary.size)


class UntrainedEncoder(ProbeBaseline):
    """The linear probe on the encoder as it was before training.

    Args:
        layers: as of the LinearProbe that it is a level of.
        pooling: likewise.
    """

    name, words = "untrained", "untrained encoder"
    unrecorded = LinearProbe.unrecorded

    def __init__(self, layers: int = 1, pooling: Pooling = "mean") -> None:
        check_use(layers, pooling)
        self.layers, self.pooling = layers, pooling

    def scores(self, objective: Objective, task: EncodedTask) -> dict[str, float]:
        first = build_objective(describe_objective(objective)).to(objective.device)
        return linear_probe(first, task, self.layers, self.pooling)


class BayesAccuracy(SharedMetric):
    """Expected accuracy of the best possible guess from a view of the text, where the rules of the text are known."""

    constant = True

    def quantities(self) -> list[Quantity]:
        return [
            one
            for task in self.data.labelled_tasks
            for view, (words, bounds) in CONTEXTS.items()
            if view in self.data.bayes_accuracies.get(task.name, {})
            for one in with_standard_error(
                Quantity(
                    probe_quantity(task, f"bayes_accuracy_{view}"),
                    words,
                    "accuracy",
                    level_of=probe_quantity(task, "accuracy"),
                    bounds=bounds,  # type: ignore[arg-type]
                )
            )
        ]

    def measure(self, objective: Objective) -> dict[str, float]:
        measured: dict[str, float] = {}
        for task in self.data.labelled_tasks:
            items_G = torch.tensor([[label_count(text)] for text in task.test])
            for view, accuracy_G in self.data.bayes_accuracies.get(task.name, {}).items():
                name = probe_quantity(task, f"bayes_accuracy_{view}")
                measured[name], measured[error_name(name)] = mean_of_ratios(accuracy_G[:, None] * items_G, items_G)
        return measured


def bag_of_tokens(task: EncodedTask, vocabulary_size: int) -> dict[str, float]:
    """accuracy and macro_f1 of a logistic regression (C = 1) on token counts, with their standard errors."""
    model = classifier().fit(_counts(task.train, task.level, vocabulary_size), labels_of(task.train))
    return scores(model.predict(_counts(task.test, task.level, vocabulary_size)), task.test)


def _counts(texts: list[EncodedText], level: str, vocabulary_size: int) -> Any:
    """A sparse row of token counts for each text, or for each token."""
    bags = [text.ids for text in texts] if level == "sequence" else [[one] for text in texts for one in text.ids]
    return token_counts(bags, vocabulary_size)


def token_counts(bags: Sequence[Sequence[int]], vocabulary_size: int) -> Any:
    """A sparse row for each bag of tokens: how often each is in it."""
    from scipy.sparse import csr_array

    columns = [token for bag in bags for token in bag]
    rows = [row for row, bag in enumerate(bags) for _ in bag]
    counts = csr_array(([1.0] * len(columns), (rows, columns)), shape=(len(bags), vocabulary_size))
    counts.sum_duplicates()
    return counts
