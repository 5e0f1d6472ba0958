"""`clm-vs-mlm pairs`: minimal pairs, such as those of BLiMP, put to one model or to several."""

from __future__ import annotations

import argparse
import os
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from experiments.inference.methods import add_method, method_of, refuse_long, score
from experiments.inference.read_input import read_lines, read_object, text_of
from experiments.inference.write_output import Table, add_format

if TYPE_CHECKING:
    from experiments.evaluation.minimal_pairs import Share
    from experiments.inference.open_model import Model
    from experiments.text.codec import Encoded

GROUP_KEYS = ("linguistics_term", "UID")
"""Keys of BLiMP by which results are grouped when none are named."""
PAIRS_AT_ONCE = 1024


Groups = dict[tuple[str, str], list[int]]
"""Places of the pairs of each group, which is a key and its value."""


@dataclass(frozen=True)
class Verdicts:
    """What one model says: an outcome for each pair, and whether both sentences have as many tokens."""

    name: str
    outcomes: list[float]
    same_length: list[bool]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = (
        "accuracy: share of pairs whose good sentence scores higher, a tie being a half, with Wilson's 95 % interval. "
        "share: pairs whose sentences have equally many tokens. difference: of a model's accuracy from the first one's "
        "pair by pair, with Student's 95 % interval. NA: a mean over groups, or differences that are all equal, have "
        "no interval."
    )
    parser.add_argument(
        "models",
        metavar="MODEL",
        nargs="+",
        help="runs, checkpoints, Hugging Face folders or hf:NAME; compared with the first",
    )
    parser.add_argument(
        "file", metavar="FILE.jsonl", help="an object a line with sentence_good and sentence_bad; behind the models"
    )
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
    names = _names(options.models)
    if len(set(names)) < len(names):
        raise ValueError("a model is named twice; name each once")
    pairs, groups = read_pairs(options.file, options.by)
    from experiments.inference.open_model import open_model

    models = [open_model(path) for path in options.models]
    methods = _methods(models, options.method)
    lines = [f"{options.file} line {line}" for line in range(1, len(pairs) + 1)]
    encoded = [_spell(name, model, pairs, lines) for name, model in zip(names, models, strict=True)]
    verdicts = [
        _judge(name, model, method, sentences)
        for name, model, method, sentences in zip(names, models, methods, encoded, strict=True)
    ]
    table = Table(options.format)
    for record in records(verdicts, groups):
        table.write(record)
    return 0


def read_pairs(file: str, by: Sequence[str] | None) -> tuple[list[tuple[str, str]], Groups]:
    """The pairs (good, bad) of a file and, for each group, the places of its pairs.

    Raises:
        ValueError: on a line that is no pair or lacks a key to group by, naming it, and when there is none at all.
    """
    pairs: list[tuple[str, str]] = []
    groups: Groups = defaultdict(list)
    records = [read_object(text, file, line) for line, text in enumerate(read_lines(file), start=1)]
    if by is None:
        by = [key for key in GROUP_KEYS if any(key in record for record in records)]
    for line, record in enumerate(records, start=1):
        for key in dict.fromkeys(by):
            if key not in record:
                raise ValueError(f'{file} line {line} has no "{key}" to group by; its keys are {", ".join(record)}')
            groups[key, str(record[key])].append(len(pairs))
        good, bad = (text_of(record, f"sentence_{kind}", file, line) for kind in ("good", "bad"))
        pairs.append((good, bad))
    if not pairs:
        raise ValueError(f"{file} has no pairs")
    return pairs, dict(groups)


def records(verdicts: Sequence[Verdicts], groups: Groups) -> Iterator[dict[str, Any]]:
    """All results: accuracies of each model, then differences of the others from the first, pair by pair."""
    from experiments.evaluation.minimal_pairs import Share, accuracy, mean_paired_difference

    everything = list(range(len(verdicts[0].outcomes)))
    by_key: dict[str, list[list[int]]] = defaultdict(list)
    for (key, _), places in groups.items():
        by_key[key].append(places)
    named = {f"{key}={value}": places for (key, value), places in groups.items()}
    for model in verdicts:

        def of(places: list[int], model: Verdicts = model) -> list[float]:
            return [model.outcomes[place] for place in places]

        matched = [place for place in everything if model.same_length[place]]
        equal = accuracy([float(same) for same in model.same_length])
        yield _record("accuracy", model.name, "all", of(everything), accuracy(of(everything)))
        for key, parts in by_key.items():
            mean = sum(accuracy(of(places)).value for places in parts) / len(parts)
            yield _record("accuracy", model.name, f"mean over {key}", of(everything), Share(mean, None, None))
        yield _record("share", model.name, "equally many tokens", of(everything), equal)
        for group, places in {"equally many tokens": matched, **named}.items():
            if places:
                yield _record("accuracy", model.name, group, of(places), accuracy(of(places)))
    first, *others = verdicts
    for model in others:
        for group, places in {"all": everything, **named}.items():
            ours, reference = ([one.outcomes[place] for place in places] for one in (model, first))
            difference = mean_paired_difference(ours, reference)
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


def _spell(
    name: str, model: Model, pairs: Sequence[tuple[str, str]], lines: Sequence[str]
) -> list[tuple[Encoded, Encoded]]:
    """The pairs in tokens; all are checked before any is scored."""
    encoded = []
    for pair, line in zip(pairs, lines, strict=True):
        good, bad = (model.codec.encode(text) for text in pair)
        refuse_long(model, [good, bad], [f"for {name}, {line}"] * 2)
        least = 1 if model.language_model.bos else 2  # without a beginning, the first token has no score
        if min(len(good.ids), len(bad.ids)) < least:
            raise ValueError(f"{line} has a sentence without a token that {name} can score; leave it out")
        encoded.append((good, bad))
    return encoded


def _judge(name: str, model: Model, method: str, pairs: Sequence[tuple[Encoded, Encoded]]) -> Verdicts:
    from tqdm import tqdm

    from experiments.evaluation.minimal_pairs import outcome
    from objectives.inference.scoring import total

    outcomes: list[float] = []
    done, tokens = 0, sum(len(good.ids) + len(bad.ids) for good, bad in pairs)
    with tqdm(total=tokens, unit="token", desc=f"{name} by {method}", file=sys.stderr) as bar:
        for start in range(0, len(pairs), PAIRS_AT_ONCE):
            flat = [one for pair in pairs[start : start + PAIRS_AT_ONCE] for one in pair]
            ids, words = [one.ids for one in flat], [one.words for one in flat]
            scored = iter(score(model, ids, method, words, progress=bar.update))
            outcomes += [outcome(total(good), total(bad)) for good, bad in zip(scored, scored, strict=True)]
            done += sum(map(len, ids))
            bar.update(done - bar.n)  # repeated sentences came free
    return Verdicts(name, outcomes, [len(good.ids) == len(bad.ids) for good, bad in pairs])
