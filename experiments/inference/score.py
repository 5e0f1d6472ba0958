"""`clm-vs-mlm score`: how probable a model finds each line of a file."""

from __future__ import annotations

import math
import sys
from collections import Counter
from collections.abc import Sequence
from typing import Any

from experiments.corpora.words import words_of
from experiments.inference.methods import check_lengths, print_remarks, score_in_parts
from experiments.inference.open_model import TextModel
from experiments.inference.write_output import RecordPrinter
from experiments.text.codec import Encoded
from objectives.inference.elbo import SAMPLES
from objectives.inference.pieces import Scores
from objectives.inference.scoring import perplexity, total

PERPLEXITY = {"chain_rule": "perplexity", "elbo": "perplexity bound"}
"""What exp(−mean) is called, by method; a pseudo-perplexity of the others."""


def encode_lines(model: TextModel, lines: Sequence[str], file: str, method: str, window: bool) -> list[Encoded]:
    """The lines as tokens. Raises ValueError on a line that is too long, unless it may be cut into windows."""
    encoded = [model.codec.encode(line) for line in lines]
    if not window:
        names = [f"{file} line {number}" for number in range(1, len(lines) + 1)]
        by = "by pll " if method == "elbo" else ""
        check_lengths(model, encoded, names, f"shorten it, or score it {by}in overlapping windows with --window")
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
    samples: int = SAMPLES,
) -> None:
    """A record for each line, then totals on standard error.

    Args:
        method: a method of `score_texts`, as are `end`, `window` and `samples`.
        per_token: whether records also hold each token with its score.
    """
    records = []
    scored = score_in_parts(model, encoded, method, end, window, samples=samples)
    for line, tokens, scores in zip(lines, encoded, scored, strict=True):
        records.append(line_record(line, scores, method, samples))
        extra = {}
        if per_token:
            names = [model.codec.name(token) for token in tokens.ids] + ["(end)"] * end
            extra = {"per_token": [list(pair) for pair in zip(names, scores, strict=True)]}
        printer.print_record({**records[-1], **extra, "text": line})
    print_remarks(model.codec, lines, encoded)
    print(summary(lines, records, method), file=sys.stderr)


def line_record(line: str, scores: Scores, method: str, samples: int) -> dict[str, Any]:
    """The numbers printed for a line; mean and perplexity are None where no token has a score."""
    nats, tokens = total(scores), sum(score is not None for score in scores)
    estimated = {"standard_error": scores.standard_error, "samples": samples} if method == "elbo" else {}
    return {
        "sum": nats,
        **estimated,
        "tokens": tokens,
        "words": len(words_of(line)),
        "mean": nats / tokens if tokens else None,
        _perplexity_name(method).replace(" ", "_").replace("-", "_"): perplexity(nats, tokens),
    }


def summary(lines: Sequence[str], records: Sequence[dict[str, Any]], method: str) -> str:
    """Totals over the records of `line_record`, in one line."""
    nats = total([record["sum"] for record in records])
    tokens, words = (sum(record[key] for record in records) for key in ("tokens", "words"))
    corpus, error = perplexity(nats, tokens), ""
    if method == "elbo":
        errors = {line: record["standard_error"] for line, record in zip(lines, records, strict=True)}
        # A line that occurs twice has the same error both times, which does not average out.
        whole = math.hypot(*(times * errors[line] for line, times in Counter(lines).items()))
        error = f" (standard error {whole:.3g})"
    return (
        f"{len(records)} lines, {tokens} tokens, {words} words, sum {nats:.6g}{error} nats by {method}, corpus "
        f"{_perplexity_name(method)} {'undefined' if corpus is None else f'{corpus:.6g}'}"
    )


def _perplexity_name(method: str) -> str:
    return PERPLEXITY.get(method, "pseudo-perplexity")
