"""`clm-vs-mlm score`: how probable a model finds each line of a file."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from experiments.lines import read_texts
from experiments.tables import Table, add_format

if TYPE_CHECKING:
    from experiments.models import Model
    from experiments.spelling import Spelled
    from objectives.scoring import Progress, Scores

METHODS = ("chain_rule", "pll", "pll_word_l2r")
LINES_AT_ONCE = 1024
"""Lines whose scores are printed together."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "model", metavar="RUN_OR_CHECKPOINT", help="a run, a checkpoint of one, or a Hugging Face folder"
    )
    parser.add_argument("file", metavar="FILE", help="text, one sentence a line; or JSON lines; - reads standard input")
    parser.add_argument("--field", help="FILE has JSON lines, and this is the key of the text")
    add_method(parser)
    parser.add_argument("--end", action="store_true", help="chain_rule: also score the end of the sentence, as a token")
    parser.add_argument("--window", action="store_true", help="score over-long lines in overlapping windows")
    parser.add_argument("--per-token", action="store_true", help="add the tokens and the nats of each")
    add_format(parser)


def add_method(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--method",
        choices=METHODS,
        help="chain_rule (causal models), pll or pll_word_l2r (masked models); default: chain_rule or pll",
    )


def main(options: argparse.Namespace) -> int:
    """Exit code 0. Raises ValueError on bad input, before anything is printed."""
    texts = list(read_texts(options.file, options.field))
    from tqdm import tqdm

    from experiments.models import open_model
    from experiments.spelling import words_of
    from objectives.scoring import perplexity, total

    model = open_model(options.model)
    method = method_of(model, options.method)
    if options.end and method != "chain_rule":
        raise ValueError("--end goes with chain_rule only: the pseudo-log-likelihood has no end to score")
    spelled = [model.spelling.spell(text) for text in texts]
    if not options.window:
        refuse_long(model, spelled, options.file, "shorten it, or score it in overlapping windows with --window")
    name = "perplexity" if method == "chain_rule" else "pseudo_perplexity"
    table, nats, tokens, words = Table(options.format), [], 0, 0
    with tqdm(total=sum(len(one.ids) for one in spelled), unit="token", file=sys.stderr) as bar:
        for start in range(0, len(texts), LINES_AT_ONCE):
            part = spelled[start : start + LINES_AT_ONCE]
            scored = score(model, part, method, bar.update, end=options.end, window=options.window)
            bar.update(sum(len(one.ids) for one in spelled[: start + len(part)]) - bar.n)  # repeated ones came free
            for text, one, scores in zip(texts[start:], part, scored, strict=False):
                count, line_words = sum(value is not None for value in scores), len(words_of(text))
                nats.append(total(scores))
                tokens, words = tokens + count, words + line_words
                record: dict[str, Any] = {
                    "sum": nats[-1],
                    "tokens": count,
                    "words": line_words,
                    "mean": nats[-1] / count if count else None,
                    name: perplexity(nats[-1], count),
                }
                if options.per_token:
                    names = [model.spelling.name(token) for token in one.ids] + ["(end)"] * options.end
                    record["per_token"] = [list(pair) for pair in zip(names, scores, strict=True)]
                table.write({**record, "text": text})
    corpus = perplexity(total(nats), tokens)
    shown = "undefined" if corpus is None else f"{corpus:.6g}"
    print(
        f"{len(texts)} lines, {tokens} tokens, {words} words, sum {total(nats):.6g} nats by {method}, corpus "
        f"{name.replace('_', '-')} {shown}",
        file=sys.stderr,
    )
    return 0


def method_of(model: Model, asked: str | None) -> str:
    """The method that was asked for, or the model's own. Raises ValueError when it is not for this kind of model."""
    own = "chain_rule" if model.reader.causal else "pll"
    if asked is not None and (asked == "chain_rule") != (own == "chain_rule"):
        kind = "reads from left to right" if model.reader.causal else "reads both ways"
        fitting = "chain_rule" if model.reader.causal else "pll or pll_word_l2r"
        raise ValueError(f"{model.path} {kind} and cannot be scored by {asked}; use {fitting}")
    return asked or own


def score(
    model: Model, spelled: Sequence[Spelled], method: str, progress: Progress, end: bool = False, window: bool = False
) -> list[Scores]:
    """Scores of each token of each text, by one of METHODS."""
    from objectives.scoring import chain_rule, pseudo_log_likelihood

    ids = [one.ids for one in spelled]
    if method == "chain_rule":
        return chain_rule(model.reader, ids, end=end, window=window, progress=progress)
    words = [one.words for one in spelled] if method == "pll_word_l2r" else None
    return pseudo_log_likelihood(model.reader, ids, words=words, window=window, progress=progress)


def refuse_long(model: Model, spelled: Sequence[Spelled], file: str, remedy: str = "shorten it") -> None:
    """Raises ValueError when a text is too long for the model, naming its line."""
    for line, one in enumerate(spelled, start=1):
        if len(one.ids) > model.reader.room:
            raise ValueError(
                f"{file} line {line} has {len(one.ids)} tokens, but the model has room for {model.reader.room} beside "
                f"special tokens; {remedy}"
            )
