"""The commands that use a trained model: their options, what is checked before a model is opened, and their steps.

Whatever needs torch is imported inside the commands, so that help and complaints about options come at once.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from experiments.inference.read_input import GROUP_KEYS, read_pairs, read_texts
from experiments.inference.write_output import FORMATS, RecordPrinter

BEAM_WIDTH = 1024
SWEEPS = 10
BOUND_SAMPLES = 64
MOST_SAMPLES = 1_000_000
FILL_NOTES = {
    "masked": "a masked model sees both sides of a blank; a blank's probabilities are those with all blanks masked; "
    "row all fills the blank it is most certain of first, and its probability is the product over these steps, "
    "not a joint probability",
    "causal": "a causal model does not see what follows a blank: up to {width} candidates come from the left and are "
    "ranked by the chain rule of the whole sentence; probabilities are shares among them",
    "masked candidates": "probabilities are shares among the candidates, each scored as a whole: all of its tokens are "
    "masked, then shown from left to right",
    "causal candidates": "probabilities are shares among the candidates, by the chain rule of the whole sentence",
}
DEFINED = (
    "samples of the distribution that masked diffusion defines, given the number of tokens: masks are filled one by "
    "one in uniformly random order"
)
NO_JOINT = (
    "a masked model defines no joint distribution: what these samples are samples of depends on the procedure "
    "({method}), and they have no probability"
)
MODEL_HELP = "a run, with or without its hash; a checkpoint of one; a Hugging Face folder; or hf:NAME"


class Command(NamedTuple):
    """A command of `clm-vs-mlm`."""

    add_arguments: Callable[[argparse.ArgumentParser], None]
    main: Callable[[argparse.Namespace], int]
    """Gives the exit code, 0. Raises ValueError on bad input, before anything is printed."""


def score_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = (
        "sum is in nats (natural logarithms) over the line's tokens, special ones left out; words are what stands "
        "between white space, a Chinese character being one by itself; mean is sum / tokens, and perplexity exp(-mean) "
        "or, for a masked model, the pseudo-perplexity. elbo, of a model trained by masked diffusion, estimates a "
        "lower bound of log p(line), given the number of its tokens, from random subsets of masked tokens: "
        "standard_error is that of sum, and exp(-mean) a bound on the perplexity. Totals come at the end, on standard "
        "error."
    )
    parser.add_argument("model", metavar="MODEL", help=MODEL_HELP)
    parser.add_argument("file", metavar="FILE", help="text, one sentence a line; or JSON lines; - reads standard input")
    parser.add_argument("--field", help="FILE has JSON lines, and this is the key of the text")
    _add_method(parser)
    parser.add_argument(
        "--samples",
        type=int,
        help=f"elbo: subsets of masked tokens for a line, an even number (default: {BOUND_SAMPLES})",
    )
    parser.add_argument("--end", action="store_true", help="chain_rule: also score the end of the sentence, as a token")
    parser.add_argument("--window", action="store_true", help="score over-long lines in overlapping windows")
    parser.add_argument("--per-token", action="store_true", help="add the tokens and the nats of each")
    _add_format(parser)


def score_command(options: argparse.Namespace) -> int:
    if options.samples is not None and not (2 <= options.samples <= MOST_SAMPLES and options.samples % 2 == 0):
        raise ValueError(f"--samples must be an even number from 2 to {MOST_SAMPLES}, but is {options.samples}")
    lines = read_texts(options.file, options.field)
    from experiments.inference.methods import choose_method
    from experiments.inference.open_model import open_model
    from experiments.inference.score import encode_lines, print_scores

    model = open_model(options.model, options.allow_import)
    method = choose_method(model, options.method)
    if options.end and method != "chain_rule":
        raise ValueError(f"--end goes with chain_rule only: {method} has no end to score")
    if options.samples is not None and method != "elbo":
        raise ValueError(f"--samples goes with elbo only, not with {method}; leave it out")
    if options.window and method == "elbo":
        raise ValueError("--window does not go with elbo, which bounds the probability of a line as a whole; use pll")
    samples = BOUND_SAMPLES if options.samples is None else options.samples
    encoded = encode_lines(model, lines, options.file, method, options.window)
    printer = RecordPrinter(options.format)
    print_scores(model, lines, encoded, method, printer, options.end, options.window, options.per_token, samples)
    return 0


def pairs_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = (
        "accuracy: share of pairs whose good sentence scores higher, a tie being a half, with Wilson's 95 % interval. "
        "share: pairs whose sentences have equally many tokens. difference: of a model's accuracy from the first one's "
        "pair by pair, with Student's 95 % interval. NA: a mean over groups, or differences that are all equal, have "
        "no interval."
    )
    parser.add_argument("models", metavar="MODEL", nargs="+", help=f"{MODEL_HELP}; others are compared with the first")
    parser.add_argument(
        "file",
        metavar="FILE.jsonl",
        help="an object a line with sentence_good and sentence_bad; - reads standard input",
    )
    parser.add_argument(
        "--by",
        action="append",
        metavar="KEY",
        help=f"group by this key (may be repeated; default: {' and '.join(GROUP_KEYS)}, where the file has them)",
    )
    _add_method(parser)
    _add_format(parser)


def pairs_command(options: argparse.Namespace) -> int:
    sentences, groups = read_pairs(options.file, options.by)
    from experiments.inference.methods import print_remarks
    from experiments.inference.open_model import open_model
    from experiments.inference.pairs import choose_methods, encode_pairs, judge_pairs, model_names, result_records

    names = model_names(options.models)
    models = [open_model(path, options.allow_import) for path in options.models]
    methods = choose_methods(models, options.method)
    # All pairs are checked for every model before any is scored.
    encoded = [encode_pairs(name, model, sentences, options.file) for name, model in zip(names, models, strict=True)]
    judgements = list(map(judge_pairs, names, models, methods, encoded))
    printer = RecordPrinter(options.format)
    for record in result_records(judgements, groups):
        printer.print_record(record)
    texts = [sentence for pair in sentences for sentence in pair]
    for name, model, tokens in zip(names, models, encoded, strict=True):
        print_remarks(model.codec, texts, tokens, f"{name}: ")
    return 0


def fill_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = (
        "For a masked model: the distribution at each blank, and all blanks filled one by one, most confident first. "
        "For a causal model, which does not see what follows a blank: candidates ranked by the chain rule of the whole "
        "sentence. Column sentence_nats is the default score (see score) of the completed sentence, with "
        "the fill as a token of its own; NA while another blank is open. Spaces between Chinese characters are dropped."
    )
    parser.add_argument("model", metavar="MODEL", help=MODEL_HELP)
    parser.add_argument("text", metavar="TEXT", help="a sentence with [MASK] for each blank, one token wide")
    parser.add_argument("--top", type=int, default=5, help="how many fills to show for a blank (default: 5)")
    parser.add_argument(
        "--candidates", nargs="+", metavar="TEXT", help="compare only these, each as a whole, of however many tokens"
    )
    parser.add_argument(
        "--width",
        type=int,
        help="causal models: how many candidates are kept at a blank and scored as whole sentences "
        f"(default: {BEAM_WIDTH})",
    )
    _add_format(parser)


def fill_command(options: argparse.Namespace) -> int:
    width = BEAM_WIDTH if options.width is None else options.width
    if options.top < 1 or width < 1:
        raise ValueError(f"--top and --width must be at least 1, but are {options.top} and {width}")
    from experiments.inference.blanks import TextWithBlanks
    from experiments.inference.fill import fill_causal, fill_masked, print_fills, score_candidates
    from experiments.inference.methods import print_remarks
    from experiments.inference.open_model import open_model

    model = open_model(options.model, options.allow_import)
    kind = "causal" if model.language_model.causal else "masked"
    if options.width is not None and (options.candidates or kind != "causal"):
        raise ValueError("--width goes with causal models that look for candidates themselves; leave it out")
    text = TextWithBlanks.parse(options.text, model)
    if options.candidates:
        kind += " candidates"
        fills = score_candidates(model, text, options.candidates)
    else:
        fills = fill_causal(model, text, width) if kind == "causal" else fill_masked(model, text, options.top)
    print_fills(model, fills, options.top, RecordPrinter(options.format, FILL_NOTES[kind].format(width=width)))
    given = [*text.parts, *(options.candidates or [])]
    print_remarks(model.codec, given, [model.codec.encode(part) for part in given])
    return 0


def generate_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = (
        "A causal model writes from left to right, a sample of the probability it defines; "
        + NO_JOINT.format(method="unmasking or gibbs")
        + ". One that is trained by masked diffusion writes, by random_order, "
        + DEFINED
        + ". Special tokens are never written. The same seed gives the same text."
    )
    parser.add_argument("model", metavar="MODEL", help=MODEL_HELP)
    parser.add_argument("--prompt", default="", help="text to continue (default: none)")
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
        choices=("left_to_right", "random_order", "unmasking", "gibbs"),
        help="left_to_right (causal models); random_order, a random blank first, unmasking, the most confident one "
        "first, or gibbs, each token drawn anew from its conditional (masked models); default: left_to_right, "
        "random_order (masked diffusion) or unmasking",
    )
    parser.add_argument("--sweeps", type=int, help=f"gibbs: how often each token is drawn (default: {SWEEPS})")
    _add_format(parser)


def generate_command(options: argparse.Namespace) -> int:
    if not 1 <= options.samples <= MOST_SAMPLES or options.length < 1:
        raise ValueError(
            f"--samples must be from 1 to {MOST_SAMPLES} and --length at least 1, but they are {options.samples} and "
            f"{options.length}"
        )
    from experiments.inference.generate import choose_generation, defines_any_order, write_samples
    from experiments.inference.methods import print_remarks
    from experiments.inference.open_model import open_model
    from objectives.inference.generation import Sampling

    sampling = Sampling(options.temperature, options.top_p, options.seed)
    model = open_model(options.model, options.allow_import)
    method = choose_generation(model, options.method)
    if options.sweeps is not None and method != "gibbs":
        raise ValueError(f"--sweeps goes with --method gibbs, not with {method}; leave it out")
    sweeps = SWEEPS if options.sweeps is None else options.sweeps
    note = None if model.language_model.causal else NO_JOINT.format(method=method)
    if method == "random_order" and defines_any_order(model):
        note = DEFINED if sampling == Sampling(seed=options.seed) else None
    printer = RecordPrinter(options.format, note)
    samples = write_samples(model, method, options.prompt, options.samples, options.length, sampling, sweeps)
    for number, (tokens, text) in enumerate(samples, start=1):
        printer.print_record({"sample": number, "tokens": tokens, "text": text})
    print_remarks(model.codec, [options.prompt], [model.codec.encode(options.prompt)])
    return 0


def export_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = (
        "A masked model becomes a ModernBERT that AutoModelForMaskedLM opens, a causal one a ModernBERT decoder for "
        "AutoModelForCausalLM, with equal logits. AutoTokenizer puts [CLS] and [SEP] around a text for a masked model, "
        "as in training, and for a causal one [CLS] in front only, so that it goes on with the text, which [SEP] ends."
    )
    parser.add_argument("model", metavar="MODEL", help="a run, with or without its hash, or a checkpoint of one")
    parser.add_argument("directory", metavar="DIR", help="folder to write; must not exist yet, or be empty")


def export_command(options: argparse.Namespace) -> int:
    target = Path(options.directory).resolve()
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise ValueError(f"{target} exists already; name a folder that does not")
    from experiments.inference.export import export_model

    export_model(options.model, target, options.allow_import)
    print(options.directory)
    return 0


def _add_method(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--method",
        choices=("chain_rule", "elbo", "pll", "pll_word_l2r"),
        help="chain_rule (causal models), elbo (masked diffusion), pll or pll_word_l2r (masked models); default: the "
        "first of them that suits the model",
    )


def _add_format(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--format",
        choices=FORMATS,
        default="tsv",
        help="tab-separated with a header (white space in a text as \\t, \\n, \\\\), or one JSON object a line",
    )


COMMANDS = {
    "score": Command(score_arguments, score_command),
    "pairs": Command(pairs_arguments, pairs_command),
    "fill": Command(fill_arguments, fill_command),
    "generate": Command(generate_arguments, generate_command),
    "export": Command(export_arguments, export_command),
}
