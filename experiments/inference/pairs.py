"""`clm-vs-mlm pairs`: minimal pairs, such as those of BLiMP, put to one model or to several.

Intervals are over pairs: how these models would do on more pairs of the kind. What models of other seeds would do is
not in them; word swap, a metric of every run, has intervals over both in a report.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from experiments.inference.methods import check_lengths, choose_method, score_in_parts
from experiments.inference.open_model import HUB, TextModel
from experiments.inference.read_input import Groups
from experiments.text.codec import Encoded
from objectives.inference.minimal_pairs import Share, accuracy, mean_paired_difference, outcome
from objectives.inference.scoring import total

SAME_LENGTH = "equally many tokens"
"""The group of pairs whose two sentences have the same number of tokens."""


@dataclass(frozen=True)
class Judgements:
    """What one model says: an outcome for each pair, and whether both sentences have the same number of tokens."""

    model: str
    outcomes: list[float]
    same_length: list[bool]

    def of(self, indices: Sequence[int]) -> list[float]:
        """The outcomes of some pairs."""
        return [self.outcomes[index] for index in indices]


def model_names(paths: Sequence[str]) -> list[str]:
    """The last part of each path or, where two are alike, all that follows the folders which the paths share.

    Raises:
        ValueError: when a path occurs twice.
    """
    absolute = [path if path.startswith(HUB) else os.path.abspath(path) for path in paths]
    if len(set(absolute)) < len(absolute):
        raise ValueError("a model is named twice; name each once")
    last = [path if path.startswith(HUB) else os.path.basename(path) for path in absolute]
    if len(set(last)) == len(last):
        return last
    shared = os.path.commonpath([os.path.dirname(path) for path in absolute if not path.startswith(HUB)])
    return [path if path.startswith(HUB) else os.path.relpath(path, shared) for path in absolute]


def choose_methods(models: Sequence[TextModel], requested: str | None) -> list[str]:
    """The requested method for the models that can be scored by it, and the default for the others.

    Raises:
        ValueError: when none of the models can be scored by it.
    """
    methods = []
    refusal: ValueError | None = None
    for model in models:
        try:
            methods.append(choose_method(model, requested))
        except ValueError as error:
            refusal = error
            methods.append(choose_method(model))
    if refusal is not None and requested not in methods:
        raise refusal
    return methods


def encode_pairs(name: str, model: TextModel, pairs: Sequence[tuple[str, str]], file: str) -> list[Encoded]:
    """Both sentences of each pair as tokens, one after the other.

    Raises:
        ValueError: when a sentence is too long, or has no token that the model can score.
    """
    encoded = []
    fewest = 1 if model.language_model.bos else 2  # without a token to begin with, the first one has no score
    for line, pair in enumerate(pairs, start=1):
        sentences = [model.codec.encode(text) for text in pair]
        check_lengths(model, sentences, [f"for {name}, {file} line {line}"] * 2)
        if min(len(sentence.ids) for sentence in sentences) < fewest:
            raise ValueError(f"{file} line {line} has a sentence without a token that {name} can score; leave it out")
        encoded += sentences
    return encoded


def judge_pairs(name: str, model: TextModel, method: str, encoded: Sequence[Encoded]) -> Judgements:
    """What a model says of the pairs of `encode_pairs`."""
    sums = [total(scores) for scores in score_in_parts(model, encoded, method, title=f"{name} by {method}")]
    lengths = [len(sentence.ids) for sentence in encoded]
    return Judgements(
        name,
        [outcome(good, bad) for good, bad in zip(sums[::2], sums[1::2], strict=True)],
        [good == bad for good, bad in zip(lengths[::2], lengths[1::2], strict=True)],
    )


def result_records(judgements: Sequence[Judgements], groups: Groups) -> Iterator[dict[str, Any]]:
    """All results: the accuracies of each model, then how each differs from the first, pair by pair."""
    first, *others = judgements
    for judged in judgements:
        yield from accuracy_records(judged, groups)
    for judged in others:
        yield from difference_records(judged, first, groups)


def accuracy_records(judged: Judgements, groups: Groups) -> Iterator[dict[str, Any]]:
    """Accuracy on all pairs, its mean over groups, on pairs of sentences of the same length, and by group."""
    name, outcomes = judged.model, judged.outcomes
    yield _record("accuracy", name, "all", outcomes, accuracy(outcomes))
    by_key: dict[str, list[float]] = defaultdict(list)
    for (key, _), indices in groups.items():
        by_key[key].append(accuracy(judged.of(indices)).value)
    for key, values in by_key.items():
        yield _record("accuracy", name, f"mean over {key}", outcomes, Share(sum(values) / len(values), None, None))
    yield _record("share", name, SAME_LENGTH, outcomes, accuracy([float(same) for same in judged.same_length]))
    matched = [index for index, same in enumerate(judged.same_length) if same]
    for group, indices in {SAME_LENGTH: matched, **_named(groups)}.items():
        if indices:
            yield _record("accuracy", name, group, judged.of(indices), accuracy(judged.of(indices)))


def difference_records(judged: Judgements, reference: Judgements, groups: Groups) -> Iterator[dict[str, Any]]:
    """How a model's accuracy differs from another's, on all pairs and by group."""
    names = f"{judged.model} - {reference.model}"
    everything = list(range(len(judged.outcomes)))
    for group, indices in {"all": everything, **_named(groups)}.items():
        difference = mean_paired_difference(judged.of(indices), reference.of(indices))
        yield _record("difference", names, group, judged.of(indices), difference)


def _named(groups: Groups) -> dict[str, list[int]]:
    return {f"{key}={value}": indices for (key, value), indices in groups.items()}


def _record(quantity: str, model: str, group: str, outcomes: list[float], share: Share) -> dict[str, Any]:
    return {
        "quantity": quantity,
        "model": model,
        "group": group,
        "pairs": len(outcomes),
        "ties": outcomes.count(0.5),
        "value": share.value,
        "low": share.low,
        "high": share.high,
    }
