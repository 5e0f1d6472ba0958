"""How a model scores texts: by which method, and a list of texts with a progress bar."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from tqdm import tqdm

from experiments.inference.open_model import TextModel
from experiments.text.codec import Encoded, TextCodec
from objectives.inference.elbo import SAMPLES
from objectives.inference.pieces import Scores
from objectives.inference.scoring import score_sentences

TEXTS_AT_ONCE = 1024
"""Texts that `score_in_parts` hands to the model together."""


def choose_method(model: TextModel, requested: str | None = None) -> str:
    """The requested method, or the model's default. Raises ValueError when the model cannot be scored by it."""
    offered = model.language_model.methods
    if requested is not None and requested not in offered:
        kind = "reads from left to right" if model.language_model.causal else "reads both ways"
        raise ValueError(f"{model.path} {kind} and cannot be scored by {requested}; use {' or '.join(offered)}")
    return requested or offered[0]


def score_texts(
    model: TextModel,
    ids: Sequence[Sequence[int]],
    method: str,
    words: Sequence[Sequence[int]] | None = None,
    end: bool = False,
    window: bool = False,
    progress: Callable[[int], Any] = lambda tokens: None,
    samples: int = SAMPLES,
) -> list[Scores]:
    """Scores of each token of each text; the other arguments are those of `objectives.inference.scoring`.

    Args:
        method: chain_rule, elbo, pll or pll_word_l2r.
        words: what pll_word_l2r goes by; the other methods ignore it.

    Raises:
        ValueError: when a score is not finite.
    """
    language_model = model.language_model.reading_for(method)
    scores = score_sentences(language_model, ids, method, words, end, window, progress, samples)
    if not all(math.isfinite(value) for text in scores for value in text if value is not None):
        raise ValueError(f"{model.path} gives scores that are not finite: its training has diverged")
    return scores


def score_in_parts(
    model: TextModel,
    encoded: Sequence[Encoded],
    method: str,
    end: bool = False,
    window: bool = False,
    title: str | None = None,
    samples: int = SAMPLES,
) -> Iterator[Scores]:
    """As `score_texts`, text by text as soon as its part is scored, with a progress bar on standard error."""
    done = 0
    with tqdm(total=sum(len(text.ids) for text in encoded), unit="token", desc=title, file=sys.stderr) as bar:
        for start in range(0, len(encoded), TEXTS_AT_ONCE):
            part = encoded[start : start + TEXTS_AT_ONCE]
            ids, words = [text.ids for text in part], [text.words for text in part]
            scores = score_texts(model, ids, method, words, end, window, bar.update, samples)
            done += sum(map(len, ids))
            bar.update(done - bar.n)  # repeated texts are scored only once
            yield from scores


def remarks(codec: TextCodec, texts: Sequence[str], encoded: Sequence[Encoded]) -> list[str]:
    """What a user has to know of texts of which a model does not see all, one line each; none where it does."""
    unknown = sum(codec.unknown(tokens.ids) for tokens in encoded)
    left_out = sum(codec.left_out(text, tokens.spans) for text, tokens in zip(texts, encoded, strict=True))
    found = {
        f"{unknown} of the tokens stand for text that the model's tokenizer cannot encode": unknown,
        f"{left_out} of the characters have no token: the model's tokenizer leaves them out": left_out,
    }
    return [remark for remark, count in found.items() if count]


def print_remarks(codec: TextCodec, texts: Sequence[str], encoded: Sequence[Encoded], prefix: str = "") -> None:
    """The remarks on standard error."""
    for remark in remarks(codec, texts, encoded):
        print(prefix + remark, file=sys.stderr)


def check_lengths(
    model: TextModel, encoded: Sequence[Encoded], names: Sequence[str], remedy: str = "shorten it"
) -> None:
    """Raises ValueError when a text is too long for the model, naming it and the remedy."""
    most = model.language_model.max_tokens
    for text, name in zip(encoded, names, strict=True):
        if len(text.ids) > most:
            raise ValueError(
                f"{name} has {len(text.ids)} tokens, but the model has room for {most}, special tokens not counted; "
                f"{remedy}"
            )
