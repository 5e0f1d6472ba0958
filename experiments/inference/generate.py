"""`clm-vs-mlm generate`: write text."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from functools import partial

from tqdm import tqdm

from experiments.inference.open_model import TextModel
from objectives.inference.generation import (
    Sampling,
    gibbs,
    left_to_right,
    random_order,
    samples_at_once,
    unmasking,
)


def choose_generation(model: TextModel, requested: str | None) -> str:
    """The requested method of generation, or the default. Raises ValueError when the model has no such method."""
    causal = model.language_model.causal
    if requested is not None and (requested == "left_to_right") != causal:
        fitting = "left_to_right" if causal else "random_order, unmasking or gibbs"
        raise ValueError(f"{model.path} cannot generate by {requested}; use {fitting}")
    default = "random_order" if defines_any_order(model) else "unmasking"
    return requested or ("left_to_right" if causal else default)


def defines_any_order(model: TextModel) -> bool:
    """Whether filling masks in random order samples a distribution that the model is trained to be: it has a bound."""
    return "elbo" in model.language_model.methods


def write_samples(
    model: TextModel, method: str, prompt: str, samples: int, length: int, sampling: Sampling, sweeps: int
) -> Iterator[tuple[int, str]]:
    """The number of tokens written and the text, prompt included, of each sample, with a progress bar.

    As many are written together as fit into memory.

    Args:
        method: left_to_right, random_order, unmasking or gibbs; the other arguments are those of
            `objectives.inference.generation`.
    """
    writers: dict[str, Callable[..., list[list[int]]]] = {
        "left_to_right": left_to_right,
        "random_order": random_order,
        "unmasking": unmasking,
        "gibbs": partial(gibbs, sweeps=sweeps),
    }
    ids, at_once = model.codec.encode(prompt).ids, samples_at_once(model.language_model, length)
    with tqdm(total=samples, unit="text", file=sys.stderr, disable=samples <= at_once) as bar:
        for start in range(0, samples, at_once):
            numbers = range(start, min(start + at_once, samples))
            written = writers[method](model.language_model, ids, numbers, length, sampling)
            yield from ((len(tokens), model.codec.decode([*ids, *tokens])) for tokens in written)
            bar.update(len(numbers))
