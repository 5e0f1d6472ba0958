"""`clm-vs-mlm score`: how probable a model finds each line of a file."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from experiments.corpora.words import words_of
from experiments.inference.methods import check_lengths, print_remarks, score_in_parts
from experiments.inference.open_model import TextModel
from experiments.inference.write_output import RecordPrinter
from experiments.text.codec import Encoded
from objectives.inference.scoring import Scores, perplexity, total


def encode_lines(model: TextModel, lines: Sequence[str], file: str, window: bool) -> list[Encoded]:
    """The lines as tokens. Raises ValueError on a line that is too long, unless it may be cut into windows."""
    encoded = [model.codec.encode(line) for line in lines]
    if not window:
        names = [f"{file} line {number}" for number in range(1, len(lines) + 1)]
        check_lengths(model, encoded, names, "shorten it, or score it in overlapping windows with --window")
    return encoded


def print_scores(
    model: TextModel,
    lines: Sequence[str],
    encoded: Sequence[Encoded],
    method: str,
    printer: RecordPrinter,
    end: bool = False,
    window: bool = False,
    per_token: bool = False,
) -> None:
    """A record for each line, then totals on standard error.

    Args:
        method: a method of `score_texts`, as are `end` and `window`.
        per_token: whether records also hold each token with its score.
    """
    records = []
    for line, tokens, scores in zip(lines, encoded, score_in_parts(model, encoded, method, end, window), strict=True):
        records.append(line_record(line, scores, method))
        extra = {}
        if per_token:
            names = [model.codec.name(token) for token in tokens.ids] + ["(end)"] * end
            extra = {"per_token": [list(pair) for pair in zip(names, scores, strict=True)]}
        printer.print_record({**records[-1], **extra, "text": line})
    print_remarks(model.codec, lines, encoded)
    print(summary(records, method), file=sys.stderr)


def line_record(line: str, scores: Scores, method: str) -> dict[str, Any]:
    """The numbers printed for a line; mean and perplexity are None where no token has a score."""
    nats, tokens = total(scores), sum(score is not None for score in scores)
    return {
        "sum": nats,
        "tokens": tokens,
        "words": len(words_of(line)),
        "mean": nats / tokens if tokens else None,
        "perplexity" if method == "chain_rule" else "pseudo_perplexity": perplexity(nats, tokens),
    }


def summary(records: Sequence[dict[str, Any]], method: str) -> str:
    """Totals over the records of `line_record`, in one line."""
    nats = total([record["sum"] for record in records])
    tokens, words = (sum(record[key] for record in records) for key in ("tokens", "words"))
    corpus = perplexity(nats, tokens)
    return (
        f"{len(records)} lines, {tokens} tokens, {words} words, sum {nats:.6g} nats by {method}, corpus "
        f"{'perplexity' if method == 'chain_rule' else 'pseudo-perplexity'} "
        f"{'undefined' if corpus is None else f'{corpus:.6g}'}"
    )
