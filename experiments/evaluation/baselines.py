"""What a probe's score is read against: models that learned nothing of the text, and the best possible guess."""

from __future__ import annotations

from typing import Any

from experiments.data.evaluation_inputs import EncodedTask, EncodedText
from experiments.evaluation.linear_probe import (
    SCORES,
    labels_of,
    linear_probe,
    majority_share,
    probe_quantity,
    scores,
)
from experiments.evaluation.metric import SharedMetric
from experiments.records.quantities import Quantity
from objectives import Objective
from objectives.checkpoint import build_objective
from objectives.identity import describe_objective

CONTEXTS = {
    "token": ("best guess from the token alone", ""),
    "past": ("best guess from the past", "causal"),
    "both": ("best guess from both sides", "all"),
}
"""View of the text -> the Bayes accuracy in words, and whose scores it bounds."""


class MajorityClass(SharedMetric):
    """Accuracy of always naming the most frequent class of the training part."""

    constant = True

    def quantities(self) -> list[Quantity]:
        return [_level(task, "majority", "accuracy", "majority class") for task in self.data.labelled_tasks]

    def measure(self, objective: Objective) -> dict[str, float]:
        tasks = self.data.labelled_tasks
        return {probe_quantity(task, "majority_accuracy"): majority_share(task) for task in tasks}


class BagOfTokens(SharedMetric):
    """The classifier of the probe on the counts of a text's tokens (at token level: on the token itself), without any
    encoder: what a task gives away to a model that knows no word order."""

    constant = True

    def quantities(self) -> list[Quantity]:
        tasks = self.data.labelled_tasks
        return [_level(task, "bag_of_tokens", kind, "bag of tokens") for task in tasks for kind in SCORES]

    def measure(self, objective: Objective) -> dict[str, float]:
        size = objective.vocabulary.size
        return {
            probe_quantity(task, f"bag_of_tokens_{kind}"): value
            for task in self.data.labelled_tasks
            for kind, value in bag_of_tokens(task, size).items()
        }


class UntrainedEncoder(SharedMetric):
    """The linear probe on the encoder as it was before training."""

    constant = True

    def quantities(self) -> list[Quantity]:
        tasks = self.data.labelled_tasks
        return [_level(task, "untrained", kind, "untrained encoder") for task in tasks for kind in SCORES]

    def measure(self, objective: Objective) -> dict[str, float]:
        untrained = build_objective(describe_objective(objective)).to(objective.device)
        return {
            probe_quantity(task, f"untrained_{kind}"): value
            for task in self.data.labelled_tasks
            for kind, value in linear_probe(untrained, task).items()
        }


class BayesAccuracy(SharedMetric):
    """Accuracy of the best possible guess from a view of the text, where the rules of the text are known."""

    constant = True

    def quantities(self) -> list[Quantity]:
        return [
            Quantity(
                probe_quantity(task, f"bayes_accuracy_{view}"),
                words,
                "accuracy",
                level_of=probe_quantity(task, "accuracy"),
                bounds=bounds,  # type: ignore[arg-type]
            )
            for task in self.data.labelled_tasks
            for view, (words, bounds) in CONTEXTS.items()
            if view in self.data.bayes_accuracies.get(task.name, {})
        ]

    def measure(self, objective: Objective) -> dict[str, float]:
        return {
            probe_quantity(task, f"bayes_accuracy_{view}"): value
            for task in self.data.labelled_tasks
            for view, value in self.data.bayes_accuracies.get(task.name, {}).items()
        }


def bag_of_tokens(task: EncodedTask, vocabulary_size: int) -> dict[str, float]:
    """accuracy and macro_f1 of a logistic regression (C = 1) on token counts."""
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression(max_iter=300)
    model.fit(_counts(task.train, task.level, vocabulary_size), labels_of(task.train))
    return scores(model.predict(_counts(task.test, task.level, vocabulary_size)), labels_of(task.test))


def _counts(texts: list[EncodedText], level: str, vocabulary_size: int) -> Any:
    """A sparse row of token counts for each text, or for each token."""
    from scipy.sparse import csr_array

    bags = [text.ids for text in texts] if level == "sequence" else [[one] for text in texts for one in text.ids]
    columns = [token for bag in bags for token in bag]
    rows = [row for row, bag in enumerate(bags) for _ in bag]
    counts = csr_array(([1.0] * len(columns), (rows, columns)), shape=(len(bags), vocabulary_size))
    counts.sum_duplicates()
    return counts


def _level(task: EncodedTask, baseline: str, kind: str, words: str) -> Quantity:
    """A baseline of one score of a probe."""
    score = probe_quantity(task, kind)
    return Quantity(probe_quantity(task, f"{baseline}_{kind}"), words, SCORES[kind], level_of=score)
