"""Linear probes: what the features of a frozen encoder give away about a text.

The features are the hidden states after the final norm, under the attention that the objective names; those of a
sequence are the mean over its tokens. A logistic regression is fitted to standardised features (C = 1).

B texts, T positions, D width.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from experiments.data.evaluation_inputs import EncodedTask, EncodedText
from objectives import Objective
from objectives.inference.language_model import inference_mode

TOKENS_PER_BATCH = 8192
"""Rows times length of one forward pass."""


def linear_probe(objective: Objective, task: EncodedTask) -> dict[str, float]:
    """accuracy, macro_f1 and majority_accuracy (of the most frequent class), on the test part."""
    # Imported here, because it takes 0.4 s that the start of a command can do without.
    from sklearn.dummy import DummyClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import accuracy_score, f1_score
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    train_ND, train_labels = _features(objective, task.train, task.level), _labels(task.train)
    test_ND, test_labels = _features(objective, task.test, task.level), _labels(task.test)
    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=300))
    predictions = model.fit(train_ND, train_labels).predict(test_ND)
    majority = DummyClassifier(strategy="most_frequent").fit(train_ND, train_labels)
    return {
        "accuracy": float(accuracy_score(test_labels, predictions)),
        "macro_f1": float(f1_score(test_labels, predictions, average="macro", zero_division=0.0)),
        "majority_accuracy": float(majority.score(test_ND, test_labels)),
    }


def _labels(texts: Sequence[EncodedText]) -> list[str]:
    return [one for text in texts for one in ([text.label] if isinstance(text.label, str) else text.label)]


def _features(objective: Objective, texts: Sequence[EncodedText], level: str) -> NDArray[np.float32]:
    """One row per text or per token, in order."""
    rows: list[NDArray[np.float32]] = [np.empty(0, np.float32)] * len(texts)
    with inference_mode(objective):
        for chunk, tokens_BT in _padded_batches(objective, [text.ids for text in texts]):
            hidden_BTD = objective.read(tokens_BT).float().cpu()
            for row, index in enumerate(chunk):
                states_TD = hidden_BTD[row, 1 : len(texts[index].ids) + 1]
                rows[index] = (states_TD.mean(0, keepdim=True) if level == "sequence" else states_TD).numpy()
    return np.concatenate(rows)


def _padded_batches(objective: Objective, texts: Sequence[list[int]]) -> Iterator[tuple[list[int], Tensor]]:
    """Texts in batches of similar length: their indices, and `[CLS] ids [SEP]`, padded on the right, (B, T)."""
    vocabulary = objective.vocabulary
    order = sorted(range(len(texts)), key=lambda row: len(texts[row]), reverse=True)
    while order:
        length = len(texts[order[0]]) + 2
        count = max(1, TOKENS_PER_BATCH // length)
        chunk, order = order[:count], order[count:]
        tokens_BT = torch.full((len(chunk), length), vocabulary.pad)
        for row, index in enumerate(chunk):
            ids = [vocabulary.cls, *texts[index], vocabulary.sep]
            tokens_BT[row, : len(ids)] = torch.tensor(ids)
        yield chunk, tokens_BT.to(objective.device)
