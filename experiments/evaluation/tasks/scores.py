"""Scores of what was named for the items of a task. Texts are the clusters of their standard errors.

G texts, K classes, S sums.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from experiments.data.evaluation_inputs import EncodedText
from experiments.evaluation.linear_probe import label_count, labels_of, scores
from experiments.evaluation.standard_errors import Score, error_name, jackknife, mean_of_ratios
from experiments.evaluation.tasks.entities import entity_counts

UNITS = {"accuracy": "accuracy", "macro_f1": "macro F1", "mcc": "MCC", "entity_f1": "entity F1"}
OF_TEXTS = ("accuracy", "macro_f1", "mcc")
OF_TAGS = ("accuracy",)
OF_ENTITIES = ("accuracy", "entity_f1")


def task_scores(named: Sequence[str], texts: Sequence[EncodedText], wanted: Sequence[str]) -> dict[str, float]:
    """Some of UNITS, with their standard errors.

    Args:
        named: a label for each item, text by text.
        texts: their true labels.
    """
    found = scores(named, texts)
    if "mcc" in wanted:
        found["mcc"], found[error_name("mcc")] = matthews(named, labels_of(texts))
    if "entity_f1" in wanted:
        found["entity_f1"], found[error_name("entity_f1")] = entity_f1(named, texts)
    return {name: found[name] for score in wanted for name in (score, error_name(score))}


def matthews(named: Sequence[str], labels: Sequence[str]) -> tuple[Score, float]:
    """Matthews' correlation coefficient of several classes (Gorodkin 2004), 0 where one of both names one class alone,
    and its standard error by the jackknife."""
    classes = {one: place for place, one in enumerate(sorted({*labels, *named}))}
    named_GK, true_GK = (
        torch.nn.functional.one_hot(torch.tensor([classes[one] for one in some]), len(classes)).double()
        for some in (named, labels)
    )
    right_G1 = (named_GK * true_GK).sum(1, keepdim=True)
    return jackknife(_matthews, torch.cat([right_G1, named_GK, true_GK], dim=1))


def _matthews(sums: Tensor) -> Tensor:
    """Of the sums (..., 1 + 2 K) of right items, and of how often each class was named and was true."""
    right, (named, true) = sums[..., 0], sums[..., 1:].chunk(2, dim=-1)
    items = true.sum(-1)
    covariance = right * items - (named * true).sum(-1)
    variances = (items**2 - (named**2).sum(-1)) * (items**2 - (true**2).sum(-1))
    return torch.where(variances > 0, covariance / variances.clamp(min=1).sqrt(), 0.0)


def entity_f1(named: Sequence[str], texts: Sequence[EncodedText]) -> tuple[Score, float]:
    """F1 over all entities of BIO tags, 2 TP / (2 TP + FP + FN), 0 where there is none, and its standard error."""
    counts, start = [], 0
    for text in texts:
        end = start + label_count(text)
        counts.append(entity_counts(named[start:end], text.label))
        start = end
    both_G, all_G = torch.tensor(counts, dtype=torch.float64).unbind(1)
    if all_G.sum() == 0:
        return Score(0.0), math.nan
    return mean_of_ratios(2 * both_G[:, None], all_G[:, None])
