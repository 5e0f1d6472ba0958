"""`clm-vs-mlm generate`: write text."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from functools import partial

from experiments.inference.write_output import Table, add_format

SWEEPS = 10
MOST_SAMPLES = 1_000_000
NO_JOINT = (
    "MLM defines no joint distribution: what these samples are samples of depends on the procedure ({method}), and "
    "they have no probability"
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = (
        "A causal model writes from left to right, a sample of the probability it defines. "
        + NO_JOINT.format(method="unmasking or gibbs")
        + ". Special tokens are never written. The same seed gives the same text."
    )
    parser.add_argument("model", metavar="MODEL", help="a run, a checkpoint of one, a Hugging Face folder, or hf:NAME")
    parser.add_argument("--prompt", default="", help="text to go on from (default: none)")
    parser.add_argument(
        "--length",
        type=int,
        default=40,
        help="tokens to write (default: 40); a causal model may end before, a masked one fills them all",
    )
    parser.add_argument("-n", "--samples", type=int, default=1, help="how many texts (default: 1)")
    parser.add_argument("--temperature", type=float, default=1.0, help="0 takes the likeliest token (default: 1)")
    parser.add_argument(
        "--top-p", type=float, default=1.0, help="draw from the likeliest tokens that have this share (default: 1)"
    )
    parser.add_argument("--seed", type=int, default=0, help="of the draws (default: 0)")
    parser.add_argument(
        "--method",
        choices=("left_to_right", "unmasking", "gibbs"),
        help="left_to_right (causal models); unmasking, the most confident blank first, or gibbs, each token drawn "
        "anew from its conditional (masked models); default: left_to_right or unmasking",
    )
    parser.add_argument("--sweeps", type=int, help=f"gibbs: how often each token is drawn (default: {SWEEPS})")
    add_format(parser)


def main(options: argparse.Namespace) -> int:
    """Exit code 0. Raises ValueError on bad input, before anything is printed."""
    if not 1 <= options.samples <= MOST_SAMPLES or options.length < 1:
        raise ValueError(
            f"--samples must be from 1 to {MOST_SAMPLES} and --length at least 1, but they are {options.samples} and "
            f"{options.length}"
        )
    from tqdm import tqdm

    from experiments.inference.open_model import open_model
    from objectives.inference.generation import Sampling, gibbs, left_to_right, samples_at_once, unmasking

    sampling = Sampling(options.temperature, options.top_p, options.seed)
    model = open_model(options.model)
    language_model, prompt = model.language_model, model.codec.encode(options.prompt).ids
    method = options.method or ("left_to_right" if language_model.causal else "unmasking")
    if (method == "left_to_right") != language_model.causal:
        fitting = "left_to_right" if language_model.causal else "unmasking or gibbs"
        raise ValueError(f"{model.path} cannot write by {method}; use {fitting}")
    if options.sweeps is not None and method != "gibbs":
        raise ValueError(f"--sweeps goes with --method gibbs, not with {method}; leave it out")
    sweeps = SWEEPS if options.sweeps is None else options.sweeps
    ways: dict[str, Callable[..., list[list[int]]]] = {
        "left_to_right": left_to_right,
        "unmasking": unmasking,
        "gibbs": partial(gibbs, sweeps=sweeps),
    }
    table, at_once = Table(options.format), samples_at_once(language_model, options.length)
    with tqdm(total=options.samples, unit="text", file=sys.stderr, disable=options.samples <= at_once) as bar:
        for start in range(0, options.samples, at_once):
            numbers = range(start, min(start + at_once, options.samples))
            written = ways[method](language_model, prompt, numbers, options.length, sampling)
            if start == 0 and not language_model.causal:
                table.note(NO_JOINT.format(method=method))
            for number, tokens in zip(numbers, written, strict=True):
                text = model.codec.decode([*prompt, *tokens])
                table.write({"sample": number + 1, "tokens": len(tokens), "text": text})
            bar.update(len(numbers))
    return 0
