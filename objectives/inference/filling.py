"""Filling blanks: a masked model by its distribution at each, a causal one by the probability of the whole sentence.

A template is a sentence in token ids without special tokens, with None at each blank.

B blanks, S sentences, V vocabulary.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from objectives.inference.language_model import LanguageModel, at_last_position, inference_mode
from objectives.inference.scoring import chain_rule, total

BEAMS_PER_BATCH = 64
"""Rows of one forward pass of the beam search."""

Template = Sequence[int | None]


class Completion(NamedTuple):
    """Tokens for all blanks of a template, in order."""

    fills: tuple[int, ...]
    nats: float
    """Log-probability; of what, the function that returns it says."""


def blank_distributions(model: LanguageModel, template: Template) -> Tensor:
    """Log-probabilities (B, V), float64, of the token at each blank, all blanks masked at once.

    Special tokens are not excluded.

    Raises:
        ValueError: when the model is causal, has no mask token or has diverged, or the template has no blank or is too
            long.
    """
    if model.causal:
        raise ValueError("this model reads from left to right only and has no distribution at a blank; see best_fills")
    if model.mask is None:
        raise ValueError("this model's tokenizer has no mask token to put at a blank")
    blanks = _blank_positions(model, template)
    masked = [model.mask if token is None else token for token in template]
    inputs_1T = torch.tensor([[*model.bos, *masked, *model.eos]], device=model.device)
    targeted_1T = torch.zeros_like(inputs_1T, dtype=torch.bool)
    targeted_1T[0, [len(model.bos) + blank for blank in blanks]] = True
    with inference_mode(model.module):
        nats_BV = model.logits(inputs_1T, targeted_1T).double().log_softmax(-1)
    if nats_BV.isnan().any():
        raise ValueError("the model's logits are not numbers: its training has diverged")
    return nats_BV


def unmask(model: LanguageModel, template: Template) -> Completion:
    """Fills the blanks one by one, always the one that the model is most confident about.

    `nats` is the sum of the log-probabilities with which they were filled: of this order of filling, not of a joint
    distribution, which a masked model does not define. Raises as `blank_distributions` does.
    """
    tokens, nats = list(template), 0.0
    blanks = _blank_positions(model, template)
    while None in tokens:
        unfilled = [blank for blank in blanks if tokens[blank] is None]
        nats_BV = blank_distributions(model, tokens).masked_fill(~model.regular_V, -torch.inf)
        best_B, tokens_B = nats_BV.max(-1)
        chosen = int(best_B.argmax())
        tokens[unfilled[chosen]] = int(tokens_B[chosen])
        nats += float(best_B[chosen])
    return Completion(tuple(token for blank in blanks if (token := tokens[blank]) is not None), nats)


def best_fills(model: LanguageModel, template: Template, width: int) -> list[Completion]:
    """The best completions by the chain rule of the whole sentence, best first; `nats` is log p(sentence).

    A causal model does not see what follows a blank: a beam search proposes fills from the left, `width` of them at
    each blank, and what follows only ranks them. With one blank and a width of the whole vocabulary this is exact.

    Raises:
        ValueError: when the model is not causal, or the template has no blank or is too long.
    """
    if not model.causal:
        raise ValueError("this model reads both ways; see blank_distributions")
    blanks = _blank_positions(model, template)
    beams: list[list[int]] = [[]]
    for token in template:
        beams = _extend_beams(model, beams, width) if token is None else [[*beam, token] for beam in beams]
    completions = [
        Completion(tuple(beam[blank] for blank in blanks), total(scores))
        for beam, scores in zip(beams, chain_rule(model, beams), strict=True)
    ]
    return sorted(completions, key=lambda completion: -completion.nats)


def _extend_beams(model: LanguageModel, beams: list[list[int]], width: int) -> list[list[int]]:
    """The `width` most probable prefixes that are one token longer."""
    if not model.bos and not beams[0]:
        raise ValueError("this model has no beginning-of-sentence token, so a text cannot begin with a blank")
    prefix_nats_S = torch.tensor([total(scores) for scores in chain_rule(model, beams)], dtype=torch.float64)
    rows_ST = torch.tensor([[*model.bos, *beam] for beam in beams], device=model.device)
    regular_V = model.regular_V
    each = min(width, int(regular_V.sum()))
    values, tokens = [], []
    with inference_mode(model.module):
        for rows in rows_ST.split(BEAMS_PER_BATCH):
            nats_SV = model.logits(rows, at_last_position(rows)).double().log_softmax(-1)
            best = nats_SV.masked_fill(~regular_V, -torch.inf).topk(each)
            values.append(best.values.cpu())
            tokens.append(best.indices.cpu())
    nats = (torch.cat(values) + prefix_nats_S[:, None]).flatten()
    kept = nats.topk(min(width, len(nats))).indices
    chosen = torch.cat(tokens).flatten()[kept].tolist()
    return [[*beams[index // each], token] for index, token in zip(kept.tolist(), chosen, strict=True)]


def _blank_positions(model: LanguageModel, template: Template) -> list[int]:
    """The positions of the blanks. Raises ValueError when there are none, or the template is too long."""
    blanks = [position for position, token in enumerate(template) if token is None]
    if not blanks:
        raise ValueError("the text has no blank; write [MASK] where one is to be filled")
    if len(template) > model.max_tokens:
        raise ValueError(
            f"a text of {len(template)} tokens is too long: the model has room for {model.max_tokens} besides special "
            f"tokens"
        )
    return blanks
