"""Linear probes: what the features of a frozen encoder give away about a text.

The features are hidden states under the attention that the objective names: those after the final norm, and of a
sequence the mean over its tokens, unless settings say otherwise. A logistic regression is fitted to standardised
features (C = 1).

N items, G texts, K classes, F features.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from experiments.data.evaluation_inputs import EncodedTask, EncodedText
from experiments.evaluation.features import Pooling, check_use, features, whole_text
from experiments.evaluation.metric import SharedMetric
from experiments.evaluation.standard_errors import error_name, mean_of_ratios, share, with_standard_error
from experiments.records.quantities import Quantity
from objectives import Objective

SCORES = {"accuracy": "accuracy", "macro_f1": "macro F1"}
"""What is recorded of a probe, and its unit."""
IMBALANCED = 0.8
"""From this share of the majority class on, accuracy says little, and macro F1 is the headline."""
STATES = {"mean": "mean hidden state", "first": "hidden state at the [CLS]", "last": "hidden state at the last token"}
"""By pooling, the features of a text in words."""


class LinearProbe(SharedMetric):
    """Linear probes of the frozen encoder, on every labelled task of the data.

    Args:
        layers: so many of the last layers, their hidden states side by side (4 as in BERT's feature-based rows).
        pooling: what stands for a whole text: the "mean" over its tokens, the "first" position, which is that of [CLS],
            or its "last" token.
    """

    unrecorded: ClassVar[dict[str, Any]] = {"layers": 1, "pooling": "mean"}

    def __init__(self, layers: int = 1, pooling: Pooling = "mean") -> None:
        check_use(layers, pooling)
        self.layers, self.pooling = layers, pooling

    def quantities(self) -> list[Quantity]:
        found: list[Quantity] = []
        for task in self.data.labelled_tasks:
            imbalanced = majority_share(task) >= IMBALANCED
            states = "hidden state of each token" if task.level == "token" else f"{STATES[self.pooling]} of each text"
            states += f" in the last {self.layers} layers" if self.layers > 1 else ""
            texts = f" in {len(task.test):,} texts" if task.level == "token" else ""
            description = (
                f"A logistic regression on the frozen {states}, for the labels of the task {task.name}: "
                f"{len(label_set(task))} classes, {len(labels_of(task.test)):,} test items{texts}."
            )
            for kind, unit in SCORES.items():
                found += with_standard_error(
                    Quantity(
                        probe_quantity(task, kind),
                        f"{task.name} probe, {unit}",
                        unit,
                        better="higher",
                        comparable="all",
                        headline=(kind == "macro_f1") == imbalanced,
                        best=1.0,
                        description=description,
                    )
                )
        return found

    def measure(self, objective: Objective) -> dict[str, float]:
        return {
            probe_quantity(task, kind): value
            for task in self.data.labelled_tasks
            for kind, value in linear_probe(objective, task, self.layers, self.pooling).items()
        }


def probe_quantity(task: EncodedTask, kind: str) -> str:
    """Name of a score, or of a level of it, of the probe for a task."""
    return f"probe/{task.name}/{kind}"


def linear_probe(
    objective: Objective, task: EncodedTask, layers: int = 1, pooling: Pooling = "mean"
) -> dict[str, float]:
    """accuracy and macro_f1 on the test part, with their standard errors."""
    train_NF, test_NF = (
        task_features(objective, part, task.level, layers, pooling) for part in (task.train, task.test)
    )
    return scores(probe().fit(train_NF, labels_of(task.train)).predict(test_NF), task.test)


def probe(c: float = 1.0) -> Any:
    """The classifier of standardised features, to be fitted."""
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    return make_pipeline(StandardScaler(), classifier(c))


def classifier(c: float = 1.0) -> Any:
    """A logistic regression, to be fitted; `c` is the inverse strength of its L2 penalty."""
    # Imported here, because it takes 0.4 s that the start of a command can do without.
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(C=c, max_iter=300)


def task_features(
    objective: Objective, texts: Sequence[EncodedText], level: str, layers: int, pooling: Pooling
) -> NDArray[np.float32]:
    """One row per text or per token, in order."""
    ids = [text.ids for text in texts]
    if level == "token":
        return features(objective, ids, [[(t, t + 1) for t in range(1, len(one) + 1)] for one in ids], "first", layers)
    return features(objective, ids, [[whole_text(one, pooling)] for one in ids], pooling, layers)


def scores(predicted: Sequence[str], texts: Sequence[EncodedText]) -> dict[str, float]:
    """accuracy and macro_f1 of what was predicted for the labels of some texts, with their standard errors.

    Texts are the clusters: the labels in one text are not independent.
    """
    labels = labels_of(texts)
    classes = {one: place for place, one in enumerate(sorted({*labels, *predicted}))}
    named_N, true_N = (torch.tensor([classes[one] for one in some]) for some in (predicted, labels))
    items_G = torch.tensor([label_count(text) for text in texts])
    text_N = torch.repeat_interleave(torch.arange(len(texts)), items_G)

    def counted(labels_N: Tensor, where_N: Tensor | slice = slice(None)) -> Tensor:
        """How often each class occurs in each text, (G, K)."""
        places_N = (text_N * len(classes) + labels_N)[where_N]
        return torch.bincount(places_N, minlength=len(texts) * len(classes)).reshape(len(texts), -1).double()

    right_GK = counted(true_N, named_N == true_N)
    accuracy, error = share(right_GK.sum(1).tolist(), items_G.tolist())
    # F1 of a class is 2 TP / (2 TP + FP + FN): its denominator is how often it was named and how often it was true.
    macro_f1, f1_error = mean_of_ratios(2 * right_GK, counted(named_N) + counted(true_N))
    return {
        "accuracy": accuracy,
        error_name("accuracy"): error,
        "macro_f1": macro_f1,
        error_name("macro_f1"): f1_error,
    }


def label_count(text: EncodedText) -> int:
    """One for a text, or one for each of its tokens."""
    return 1 if isinstance(text.label, str) else len(text.label)


def labels_of(texts: Sequence[EncodedText]) -> list[str]:
    """One label a text, or one a token."""
    return [one for text in texts for one in ([text.label] if isinstance(text.label, str) else text.label)]


def label_set(task: EncodedTask) -> set[str]:
    return set(labels_of(task.train))


def majority_class(task: EncodedTask) -> str:
    """The most frequent class of the training part."""
    return Counter(labels_of(task.train)).most_common(1)[0][0]


def majority_share(task: EncodedTask) -> float:
    """Share of the test labels that are the majority class."""
    tested = labels_of(task.test)
    return tested.count(majority_class(task)) / len(tested)
