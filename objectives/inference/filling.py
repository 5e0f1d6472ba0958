"""Filling blanks: by a masked model from both sides, by a causal one through the probability of the whole sentence.

A template is a sentence in token ids without special tokens, with None at each blank.

B blanks, S sentences, V vocabulary.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from objectives.inference.language_model import LanguageModel, at_last_position, inference_mode
from objectives.inference.scoring import chain_rule, total

BEAMS_PER_BATCH = 64
"""Rows of one forward pass when beams are extended."""

Template = Sequence[int | None]


class Completion(NamedTuple):
    """Tokens for all blanks of a template, in order."""

    fills: tuple[int, ...]
    nats: float
    """Log-probability, of what each function says."""


def blank_distributions(model: LanguageModel, template: Template) -> Tensor:
    """Log-probabilities (B, V), float64, of each blank's token, all blanks masked at once.

    Special tokens keep what the model gives them; nobody should fill them in.

    Raises:
        ValueError: when the model is causal, has no mask token or has diverged, or the template has no blank or is too
            long.
    """
    if model.causal:
        raise ValueError("this model reads from left to right only and has no distribution at a blank; see best_fills")
    if model.mask is None:
        raise ValueError("this model's tokenizer has no mask token to put at a blank")
    _blanks(model, template)
    row = [model.mask if token is None else token for token in template]
    inputs_1T = torch.tensor([[*model.bos, *row, *model.eos]], device=model.device)
    begins, ends = len(model.bos), len(model.eos)
    targeted_1T = F.pad(torch.tensor([[token is None for token in template]], device=model.device), (begins, ends))
    with inference_mode(model.module):
        nats_BV = model.logits(inputs_1T, targeted_1T).double().log_softmax(-1)
    if nats_BV.isnan().any():
        raise ValueError("the model's logits are not numbers: its training has diverged")
    return nats_BV


def unmask(model: LanguageModel, template: Template) -> Completion:
    """All blanks, filled one by one, the one first in which the model is most confident.

    `nats` is the sum of the log-probabilities with which they were filled: of this order of filling, not of a joint
    distribution, which a masked model does not define. Raises as `blank_distributions` does.
    """
    row, nats = list(template), 0.0
    places = _blanks(model, template)
    while None in row:
        open_places = [place for place in places if row[place] is None]
        nats_BV = blank_distributions(model, row).masked_fill(~model.regular_V, -torch.inf)
        best_B, tokens_B = nats_BV.max(-1)
        most = int(best_B.argmax())
        row[open_places[most]] = int(tokens_B[most])
        nats += float(best_B[most])
    return Completion(tuple(token for place in places if (token := row[place]) is not None), nats)


def best_fills(model: LanguageModel, template: Template, width: int) -> list[Completion]:
    """The best completions by the chain rule of the whole sentence, best first; `nats` is log p(sentence).

    A causal model cannot look to the right of a blank: candidates come from the left, by a beam search that keeps
    `width` of them at each blank, and what follows judges them only afterwards. With one blank and a width of the
    whole vocabulary this is exact.

    Raises:
        ValueError: when the model is not causal, or the template has no blank or is too long.
    """
    if not model.causal:
        raise ValueError("this model reads both ways; see blank_distributions")
    places = _blanks(model, template)
    beams: list[list[int]] = [[]]
    for token in template:
        beams = _extended(model, beams, width) if token is None else [[*beam, token] for beam in beams]
    completions = [
        Completion(tuple(beam[place] for place in places), total(scores))
        for beam, scores in zip(beams, chain_rule(model, beams), strict=True)
    ]
    return sorted(completions, key=lambda completion: -completion.nats)


def _extended(model: LanguageModel, beams: list[list[int]], width: int) -> list[list[int]]:
    """The `width` most probable beginnings that are one token longer."""
    if not model.bos and not beams[0]:
        raise ValueError("this model knows no token for the beginning of a text, so that no blank can stand first")
    begun = torch.tensor([total(scores) for scores in chain_rule(model, beams)], dtype=torch.float64)
    rows_ST = torch.tensor([[*model.bos, *beam] for beam in beams], device=model.device)
    regular_V = model.regular_V
    few = min(width, int(regular_V.sum()))
    values, tokens = [], []
    with inference_mode(model.module):
        for rows in rows_ST.split(BEAMS_PER_BATCH):
            nats_SV = model.logits(rows, at_last_position(rows)).double().log_softmax(-1)
            best = nats_SV.masked_fill(~regular_V, -torch.inf).topk(few)
            values.append(best.values.cpu())
            tokens.append(best.indices.cpu())
    kept = (torch.cat(values) + begun[:, None]).flatten().topk(min(width, len(beams) * few)).indices
    chosen = torch.cat(tokens).flatten()[kept].tolist()
    return [[*beams[place // few], token] for place, token in zip(kept.tolist(), chosen, strict=True)]


def _blanks(model: LanguageModel, template: Template) -> list[int]:
    places = [place for place, token in enumerate(template) if token is None]
    if not places:
        raise ValueError("the text has no blank; write [MASK] where one is to be filled")
    if len(template) > model.max_tokens:
        raise ValueError(
            f"a text of {len(template)} tokens is too long: the model has room for {model.max_tokens} beside special tokens"
        )
    return places
