"""The evidence lower bound (ELBO): how probable a sentence is at least, under a model that fills masks in any order.

A model of what [MASK] hides defines the probability of n tokens, given their number: all n are masked, and filled one
at a time in uniformly random order σ. By Jensen's inequality

    log p(x | n) = log E_σ Π_i p(x_σ(i) | x_σ(<i))  >=  E_σ Σ_i log p(x_σ(i) | x_σ(<i))
                 = E_k E_M (n / k) Σ_{i in M} log p(x_i | the tokens outside of M)

with k uniform on 1 … n and M a uniform subset of k positions (Ou et al. 2024; Uria et al. 2014). It equals the integral
over masking rates that masked diffusion is trained by (Sahoo et al. 2024), and varies less: no rate is drawn whose
number of masks is left to chance.

R rows (samples of all pieces of a batch), T positions, L tokens of a piece, P pieces, N samples.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from hashlib import blake2b

import torch
import torch.nn.functional as F
from torch import Tensor

from objectives.inference.language_model import LanguageModel
from objectives.inference.pieces import (
    LOGITS_PER_BATCH,
    TOKENS_PER_BATCH,
    Piece,
    Progress,
    Scorer,
    Scores,
    log_probabilities,
    refuse_unscorable,
    score_pieces,
)
from objectives.training.randomness import Key, uniform

SAMPLES = 64
"""Subsets of masked tokens that a bound is estimated by."""


def evidence_lower_bound(
    model: LanguageModel,
    sentences: Sequence[Sequence[int]],
    samples: int = SAMPLES,
    progress: Progress = lambda tokens: None,
) -> list[Scores]:
    """What each token adds to the ELBO of its sentence, estimated without bias; and the standard error of their sum.

    The numbers of masked tokens are stratified: two samples in each of samples / 2 equal parts of 1 … n; how these two
    differ gives the standard error. All draws are a hash of the sentence: equal ones have equal scores, and the errors
    of different ones are independent.

    Args:
        model: a masked model.
        sentences: ids of each sentence.
        samples: subsets of masked tokens for each sentence, each a row to be read; an even number.
        progress: told of the tokens scored.

    Raises:
        ValueError: when the model is causal, has no mask token, the number of samples is not even and positive, or a
            sentence is too long: the bound is that of a sentence as a whole, and not of windows.
    """
    if samples < 2 or samples % 2:
        raise ValueError(f"samples must be an even number of at least 2, but is {samples}")
    if model.causal:
        raise ValueError("this model reads from left to right and needs no bound; score it by chain_rule")
    if model.mask is None:
        raise ValueError("this model's tokenizer has no mask token, which the bound needs")
    refuse_unscorable(model, sentences, window=False)
    scorer = BoundScorer(model, model.mask, samples)
    return score_pieces(scorer, [Piece(tuple(tokens)) for tokens in sentences], model.max_tokens, progress)


class BoundScorer(Scorer):
    """One row a sample: a copy of its piece in which a subset of the tokens is masked."""

    context = "both"
    equal_lengths = True

    def __init__(self, model: LanguageModel, mask: int, samples: int) -> None:
        super().__init__(model)
        self.mask, self.samples = mask, samples

    def batch_size(self, length: int) -> int:
        return TOKENS_PER_BATCH // (self.samples * (len(self.model.bos) + length + len(self.model.eos)))

    def score_batch(self, pieces: Sequence[Piece]) -> list[Scores]:
        model, length, device = self.model, len(pieces[0].tokens), self.model.device
        masked_RL = masked_subsets([piece.tokens for piece in pieces], self.samples).to(device)
        targeted_RT = F.pad(masked_RL, (len(model.bos), len(model.eos)))
        rows_PT = torch.tensor([[*model.bos, *piece.tokens, *model.eos] for piece in pieces], device=device)
        clean_RT = rows_PT.repeat_interleave(self.samples, 0)
        size = max(1, min(TOKENS_PER_BATCH // clean_RT.shape[1], LOGITS_PER_BATCH // (length * model.vocabulary_size)))
        found = []
        for clean, targeted in zip(clean_RT.split(size), targeted_RT.split(size), strict=True):
            logits = model.logits(clean.masked_fill(targeted, self.mask), targeted)
            found.append(log_probabilities(logits, clean[targeted]))
        nats_RL = torch.zeros(masked_RL.shape, dtype=torch.float64, device=device)
        nats_RL[masked_RL] = torch.cat(found).double()
        nats_RL *= length / masked_RL.sum(1, keepdim=True)
        nats_PNL = nats_RL.view(len(pieces), self.samples, length)
        sums_PN = nats_PNL.sum(2)
        errors_P = (sums_PN[:, ::2] - sums_PN[:, 1::2]).square().sum(1).sqrt() / self.samples
        return [Scores(*one) for one in zip(nats_PNL.mean(1).tolist(), errors_P.tolist(), strict=True)]


def masked_subsets(sentences: Sequence[Sequence[int]], samples: int) -> Tensor:
    """True at the masked tokens, (R, L): for each of the sentences, which are of one length, its samples in a row."""
    numbers = [_hash(tokens) for tokens in sentences for _ in range(samples)]
    sample_R = torch.arange(samples).repeat(len(sentences))
    key, length = Key(0, sample_R, torch.tensor(numbers)), len(sentences[0])
    place_R1 = (sample_R[:, None] // 2 + uniform(key, "ELBO count", 1)) / (samples // 2)
    count_R1 = (place_R1 * length).floor().clamp(max=length - 1) + 1
    order_RL = uniform(key, "ELBO subset", length).argsort(dim=1, stable=True).argsort(dim=1)
    return order_RL < count_R1


def _hash(tokens: Sequence[int]) -> int:
    packed = struct.pack(f"<{len(tokens)}q", *tokens)
    return int.from_bytes(blake2b(packed, digest_size=8).digest(), "little", signed=True)
