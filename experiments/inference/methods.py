"""How a model scores text: by its own kind of score, or by the one that was asked for."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from experiments.inference.open_model import Model
    from experiments.text.codec import Encoded
    from objectives.inference.scoring import Scores

METHODS = ("chain_rule", "pll", "pll_word_l2r")


def add_method(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--method",
        choices=METHODS,
        help="chain_rule (causal models), pll or pll_word_l2r (masked models); default: chain_rule or pll",
    )


def method_of(model: Model, asked: str | None = None) -> str:
    """The method that was asked for, or the model's own. Raises ValueError when it is not for this kind of model."""
    own = "chain_rule" if model.language_model.causal else "pll"
    if asked is not None and (asked == "chain_rule") != (own == "chain_rule"):
        kind = "reads from left to right" if model.language_model.causal else "reads both ways"
        fitting = "chain_rule" if model.language_model.causal else "pll or pll_word_l2r"
        raise ValueError(f"{model.path} {kind} and cannot be scored by {asked}; use {fitting}")
    return asked or own


def score(
    model: Model,
    ids: Sequence[Sequence[int]],
    method: str,
    words: Sequence[Sequence[int]] | None = None,
    end: bool = False,
    window: bool = False,
    progress: Callable[[int], Any] = lambda tokens: None,
) -> list[Scores]:
    """Scores of each token of each text, by one of METHODS; the arguments are those of `objectives.inference.scoring`.

    Args:
        words: what pll_word_l2r goes by; the other methods do not look at it.

    Raises:
        ValueError: when a score is not finite.
    """
    from objectives.inference.scoring import score_sentences

    scores = score_sentences(model.language_model, ids, method, words, end, window, progress)
    if not all(math.isfinite(value) for one in scores for value in one if value is not None):
        raise ValueError(f"{model.path} gives scores that are not finite: its training has diverged")
    return scores


def refuse_long(model: Model, encoded: Sequence[Encoded], names: Sequence[str], remedy: str = "shorten it") -> None:
    """Raises ValueError when a text is too long for the model, naming it."""
    for one, name in zip(encoded, names, strict=True):
        if len(one.ids) > model.language_model.max_tokens:
            raise ValueError(
                f"{name} has {len(one.ids)} tokens, but the model has room for {model.language_model.max_tokens} beside special "
                f"tokens; {remedy}"
            )
