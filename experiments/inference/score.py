"""`clm-vs-mlm score`: how probable a model finds each line of a file."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from experiments.inference.methods import add_method, method_of, refuse_long, score
from experiments.inference.read_input import read_texts
from experiments.inference.write_output import Table, add_format

LINES_AT_ONCE = 1024
"""Lines whose scores are printed together."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = (
        "sum is in nats (natural logarithms) over the line's tokens, special ones left out; words are what stands "
        "between white space, a Chinese character being one by itself; mean is sum / tokens, and perplexity exp(-mean) "
        "or, for a masked model, the pseudo-perplexity. Totals come at the end, on standard error."
    )
    parser.add_argument("model", metavar="MODEL", help="a run, a checkpoint of one, a Hugging Face folder, or hf:NAME")
    parser.add_argument("file", metavar="FILE", help="text, one sentence a line; or JSON lines; - reads standard input")
    parser.add_argument("--field", help="FILE has JSON lines, and this is the key of the text")
    add_method(parser)
    parser.add_argument("--end", action="store_true", help="chain_rule: also score the end of the sentence, as a token")
    parser.add_argument("--window", action="store_true", help="score over-long lines in overlapping windows")
    parser.add_argument("--per-token", action="store_true", help="add the tokens and the nats of each")
    add_format(parser)


def main(options: argparse.Namespace) -> int:
    """Exit code 0. Raises ValueError on bad input, before anything is printed."""
    texts = list(read_texts(options.file, options.field))
    from tqdm import tqdm

    from experiments.inference.open_model import open_model
    from experiments.text.codec import words_of
    from objectives.inference.scoring import perplexity, total

    model = open_model(options.model)
    method = method_of(model, options.method)
    if options.end and method != "chain_rule":
        raise ValueError("--end goes with chain_rule only: the pseudo-log-likelihood has no end to score")
    encoded = [model.codec.encode(text) for text in texts]
    if not options.window:
        lines = [f"{options.file} line {line}" for line in range(1, len(texts) + 1)]
        refuse_long(model, encoded, lines, "shorten it, or score it in overlapping windows with --window")
    name = "perplexity" if method == "chain_rule" else "pseudo_perplexity"
    table, sums, tokens, words, done = Table(options.format), [], 0, 0, 0
    with tqdm(total=sum(len(one.ids) for one in encoded), unit="token", file=sys.stderr) as bar:
        for start in range(0, len(texts), LINES_AT_ONCE):
            part = encoded[start : start + LINES_AT_ONCE]
            ids, of_words = [one.ids for one in part], [one.words for one in part]
            scored = score(model, ids, method, of_words, options.end, options.window, bar.update)
            done += sum(map(len, ids))
            bar.update(done - bar.n)  # repeated lines came free
            for text, one, scores in zip(texts[start : start + len(part)], part, scored, strict=True):
                nats, count = total(scores), sum(value is not None for value in scores)
                record: dict[str, Any] = {
                    "sum": nats,
                    "tokens": count,
                    "words": len(words_of(text)),
                    "mean": nats / count if count else None,
                    name: perplexity(nats, count),
                }
                if options.per_token:
                    names = [model.codec.name(token) for token in one.ids] + ["(end)"] * options.end
                    record["per_token"] = [list(pair) for pair in zip(names, scores, strict=True)]
                table.write({**record, "text": text})
                sums.append(nats)
                tokens, words = tokens + count, words + record["words"]
    unknown = sum(model.codec.unknown(one.ids) for one in encoded)
    if unknown:
        print(f"{unknown} of the tokens stand for what the model's tokenizer cannot spell", file=sys.stderr)
    corpus = perplexity(total(sums), tokens)
    shown = "undefined" if corpus is None else f"{corpus:.6g}"
    print(
        f"{len(texts)} lines, {tokens} tokens, {words} words, sum {total(sums):.6g} nats by {method}, corpus "
        f"{name.replace('_', '-')} {shown}",
        file=sys.stderr,
    )
    return 0
