"""`clm-vs-mlm pairs`: minimal pairs, such as those of BLiMP, put to one model or to several."""

from __future__ import annotations

import argparse
import os
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from experiments.lines import read_lines, read_object, text_of
from experiments.score import add_method, method_of, refuse_long, score
from experiments.tables import Table, add_format

if TYPE_CHECKING:
    from experiments.minimal_pairs import Share
    from experiments.models import Model

GROUP_KEYS = ("linguistics_term", "UID")
"""Keys of BLiMP by which results are grouped when none are named."""
PAIRS_AT_ONCE = 1024


@dataclass(frozen=True)
class Answers:
    """What one model says: an outcome for each pair, and whether both sentences have as many tokens."""

    name: str
    outcomes: list[float]
    same_length: list[bool]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "models",
        metavar="CHECKPOINT",
        nargs="+",
        help="runs, checkpoints or Hugging Face folders; compared with the first",
    )
    parser.add_argument("file", metavar="FILE.jsonl", help="an object a line with sentence_good and sentence_bad")
    parser.add_argument(
        "--by",
        action="append",
        metavar="KEY",
        help=f"group by this key (may be repeated; default: {' and '.join(GROUP_KEYS)}, where the file has them)",
    )
    add_method(parser)
    add_format(parser)


def main(options: argparse.Namespace) -> int:
    """Exit code 0. Raises ValueError on bad input, before anything is printed."""
    if len(set(options.models)) < len(options.models):
        raise ValueError("a model is named twice; name each once")
    pairs, groups = read_pairs(options.file, options.by)
    from experiments.models import open_model

    models = [open_model(path) for path in options.models]
    methods = _methods(models, options.method)
    answers = [
        _answers(name, model, method, pairs, options.file)
        for name, model, method in zip(_names(options.models), models, methods, strict=True)
    ]
    table = Table(options.format)
    for record in records(answers, groups):
        table.write(record)
    return 0


def read_pairs(file: str, by: Sequence[str] | None) -> tuple[list[tuple[str, str]], dict[str, list[int]]]:
    """The pairs (good, bad) of a file and, for each group "key=value", the places of its pairs.

    Raises:
        ValueError: on a line that is no pair or lacks a key to group by, naming it, and when there is none at all.
    """
    pairs: list[tuple[str, str]] = []
    groups: dict[str, list[int]] = defaultdict(list)
    for line, text in enumerate(read_lines(file), start=1):
        record = read_object(text, file, line)
        if by is None:
            by = [key for key in GROUP_KEYS if key in record]
        for key in by:
            if key not in record:
                raise ValueError(f'{file} line {line} has no "{key}" to group by; its keys are {", ".join(record)}')
            groups[f"{key}={record[key]}"].append(len(pairs))
        good, bad = (text_of(record, f"sentence_{kind}", file, line) for kind in ("good", "bad"))
        pairs.append((good, bad))
    if not pairs:
        raise ValueError(f"{file} has no pairs")
    return pairs, dict(groups)


def records(answers: Sequence[Answers], groups: dict[str, list[int]]) -> Iterator[dict[str, Any]]:
    """All results: accuracies of each model, then differences of the others from the first, pair by pair."""
    from experiments.minimal_pairs import Share, accuracy, paired_difference

    everything = list(range(len(answers[0].outcomes)))
    by_key: dict[str, list[list[int]]] = defaultdict(list)
    for group, places in groups.items():
        by_key[group.partition("=")[0]].append(places)
    for model in answers:

        def of(places: list[int], model: Answers = model) -> list[float]:
            return [model.outcomes[place] for place in places]

        matched = [place for place in everything if model.same_length[place]]
        yield _record("accuracy", model.name, "all", of(everything), accuracy(of(everything)))
        for key, parts in by_key.items():
            mean = sum(accuracy(of(places)).value for places in parts) / len(parts)
            yield _record("accuracy", model.name, f"mean over {key}", of(everything), Share(mean, None, None))
        yield _record(
            "share", model.name, "equally many tokens", of(matched), accuracy([*map(float, model.same_length)])
        )
        if matched:
            yield _record("accuracy", model.name, "equally many tokens", of(matched), accuracy(of(matched)))
        for group, places in groups.items():
            yield _record("accuracy", model.name, group, of(places), accuracy(of(places)))
    first, *others = answers
    for model in others:
        for group, places in {"all": everything, **groups}.items():
            ours, reference = ([one.outcomes[place] for place in places] for one in (model, first))
            difference = paired_difference(ours, reference)
            yield _record("difference", f"{model.name} - {first.name}", group, ours, difference)


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


def _names(paths: Sequence[str]) -> list[str]:
    """What tells the models apart: their paths without the folders that all of them are in."""
    shared = os.path.commonpath([os.path.dirname(os.path.abspath(path)) for path in paths])
    return [os.path.relpath(path, shared) for path in paths]


def _methods(models: Sequence[Model], asked: str | None) -> list[str]:
    """The method asked for where a model can be scored by it, and its own elsewhere; it must suit one of them."""
    methods = []
    refusal: ValueError | None = None
    for model in models:
        try:
            methods.append(method_of(model, asked))
        except ValueError as error:
            refusal = error
            methods.append(method_of(model, None))
    if refusal is not None and asked not in methods:
        raise refusal
    return methods


def _answers(name: str, model: Model, method: str, pairs: Sequence[tuple[str, str]], file: str) -> Answers:
    from tqdm import tqdm

    from experiments.minimal_pairs import outcome
    from objectives.scoring import total

    spelled = [[model.spelling.spell(text) for text in pair] for pair in pairs]
    for place in range(2):
        refuse_long(model, [pair[place] for pair in spelled], file)
    outcomes: list[float] = []
    tokens = [sum(len(one.ids) for one in pair) for pair in spelled]
    with tqdm(total=sum(tokens), unit="token", desc=f"{name} by {method}", file=sys.stderr) as bar:
        for start in range(0, len(pairs), PAIRS_AT_ONCE):
            stop = start + PAIRS_AT_ONCE
            scored = iter(score(model, [one for pair in spelled[start:stop] for one in pair], method, bar.update))
            outcomes += [outcome(total(good), total(bad)) for good, bad in zip(scored, scored, strict=True)]
            bar.update(sum(tokens[:stop]) - bar.n)  # repeated sentences came free
    return Answers(name, outcomes, [len(good.ids) == len(bad.ids) for good, bad in spelled])
