"""`clm-vs-mlm fill`: what belongs at the blanks of a text."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from experiments.inference.write_output import Table, add_format

if TYPE_CHECKING:
    from experiments.inference.blanks import Fills
    from experiments.inference.open_model import Model

WIDTH = 1024
NOTES = {
    "masked": "a masked model sees both sides: the probability of a blank is its own, with all blanks masked; row all "
    "fills first the blank it is most sure of, and its probability is the product on that way, no joint probability",
    "causal": "a causal model cannot look right: up to {width} candidates come from the left alone and are ranked by "
    "the chain rule of the whole sentence; the probability is the share among them",
    "masked candidates": "the probability is the share among the candidates, each scored as a whole: all its tokens "
    "masked, then shown from left to right",
    "causal candidates": "the probability is the share among the candidates, by the chain rule of the whole sentence",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = (
        "For a masked model: the distribution at each blank, and all blanks filled one by one, most confident first. "
        "For a causal model, which cannot look right: candidates ranked by the chain rule of the whole sentence. "
        "Column sentence_nats is the chain rule or the pseudo-log-likelihood of the completed sentence, with the fill "
        "as a token of its own; NA while another blank is open. Spaces between Chinese characters, which their texts "
        "do not have, are left out."
    )
    parser.add_argument("model", metavar="MODEL", help="a run, a checkpoint of one, a Hugging Face folder, or hf:NAME")
    parser.add_argument("text", metavar="TEXT", help="a sentence with [MASK] for each blank, one token wide")
    parser.add_argument("--top", type=int, default=5, help="how many answers to show for a blank (default: 5)")
    parser.add_argument(
        "--candidates", nargs="+", metavar="TEXT", help="compare these only, each as a whole, of however many tokens"
    )
    parser.add_argument(
        "--width",
        type=int,
        help=f"causal models: how many candidates are kept at a blank and scored as whole sentences (default: {WIDTH})",
    )
    add_format(parser)


def main(options: argparse.Namespace) -> int:
    """Exit code 0. Raises ValueError on bad input, before anything is printed."""
    width = WIDTH if options.width is None else options.width
    if options.top < 1 or width < 1:
        raise ValueError(f"--top and --width must be at least 1, but are {options.top} and {width}")
    from experiments.inference.blanks import Text, by_causal, by_masked
    from experiments.inference.candidates import among
    from experiments.inference.open_model import open_model

    model = open_model(options.model)
    if options.width is not None and (options.candidates or not model.language_model.causal):
        raise ValueError("--width goes with causal models that look for candidates themselves; leave it out")
    text = Text.of(options.text, model)
    kind = "causal" if model.language_model.causal else "masked"
    if options.candidates:
        kind += " candidates"
        fills = among(model, text, options.candidates)
    else:
        fills = by_causal(model, text, width) if kind == "causal" else by_masked(model, text, options.top)
    show(fills, model, options.top, options.format, NOTES[kind].format(width=width))
    return 0


def show(fills: Fills, model: Model, top: int, form: str, note: str) -> None:
    """Print the best fills of each blank, then those of all blanks together."""
    from experiments.inference.methods import method_of, score
    from objectives.inference.scoring import total

    parts = {str(number): found for number, found in enumerate(fills.blanks, start=1)} | {"all": fills.whole}
    rows = [(blank, rank, fill) for blank, found in parts.items() for rank, fill in enumerate(found[:top], start=1)]
    whole = [fill.ids for _, _, fill in rows if fill.ids is not None]
    scores = iter(score(model, whole, method_of(model)))
    table = Table(form)
    table.note(note)
    for blank, rank, fill in rows:
        table.write(
            {
                "blank": blank,
                "rank": rank,
                "fills": list(fill.fills),
                "probability": fill.probability,
                "sentence_nats": None if fill.ids is None else total(next(scores)),
                "text": fill.text,
            }
        )
