"""Selection of spans: neighbouring tokens are selected together, and still each with the probability of the rate.

B blocks, T positions, L lengths of a span.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from objectives.corruption.selection import Selection
from objectives.training.randomness import Key, uniform
from objectives.vocabulary import Vocabulary


@dataclass(frozen=True)
class Spans(Selection):
    """Spans of tokens with geometric lengths up to a longest one (after SpanBERT, Joshi et al. 2020).

    Spans and the gaps between them follow each other as in a renewal process: a gap has 0, 1, 2, ... tokens, geometric
    too, and is so long on average that a share `rate` of the tokens lies in spans. In each document the process has
    been going on forever, so every token of it, the first and the last included, is selected with probability `rate`
    exactly. Spans may touch, and do not go on over the edge of a document. Special tokens in a document, such as
    [UNK], are counted as a part of the span and left as they are.

    Raises:
        ValueError: when p is outside (0, 1], or longest below 1.
    """

    p: float = 0.2
    """Length l has a probability proportional to (1 - p)^l: with 0.2 and at most 10 tokens, 3.8 on average."""
    longest: int = 10
    """Most tokens of a span."""

    def __post_init__(self) -> None:
        if not 0 < self.p <= 1:
            raise ValueError(f"p, of the geometric lengths of spans, must be in (0, 1], but is {self.p}")
        if self.longest < 1:
            raise ValueError(f"a span has at least one token, but longest is {self.longest}")

    @property
    def name(self) -> str:
        return f"Spans (p {self.p:g}, up to {self.longest})"

    def __call__(self, tokens_BT: Tensor, rate_B1: Tensor, key: Key, vocabulary: Vocabulary) -> Tensor:
        length = tokens_BT.shape[1]
        edges = torch.tensor((vocabulary.cls, vocabulary.sep, vocabulary.pad), device=tokens_BT.device)
        fresh_BT = F.pad(torch.isin(tokens_BT, edges)[:, :-1], (1, 0), value=True)  # the process is met in midstream
        share_L = (1 - self.p) ** torch.arange(self.longest, dtype=torch.float64, device=tokens_BT.device)
        share_L /= share_L.sum()
        at_least_L = share_L.flip(0).cumsum(0).flip(0)
        mean_length = at_least_L.sum()
        mean_gap_B1 = mean_length * (1 - rate_B1) / rate_B1
        inside_BT = uniform(key, "selection", length) < torch.where(fresh_BT, rate_B1, 1 / (1 + mean_gap_B1))
        draw_BT = uniform(key, "span length", length)
        # Of a span that is met in midstream, l tokens are left as often as spans have l tokens or more.
        left_BT = torch.where(fresh_BT, _quantile(at_least_L / mean_length, draw_BT), _quantile(share_L, draw_BT))
        return ~vocabulary.is_special(tokens_BT) & (_walk(left_BT * inside_BT, fresh_BT) > 0)


def _quantile(share_L: Tensor, draw_BT: Tensor) -> Tensor:
    """The length, from 1, at which the shares that are summed up exceed a draw in [0, 1)."""
    return 1 + torch.searchsorted(share_L.cumsum(0)[:-1], draw_BT, right=True)


def _walk(left_BT: Tensor, fresh_BT: Tensor) -> Tensor:
    """Tokens left of the span that each position is in, its own included; 0 outside of spans.

    Args:
        left_BT: those of a span that would begin there; 0 where none would.
        fresh_BT: where a span that has come so far ends, whatever is left of it.
    """
    now_B = torch.zeros_like(left_BT[:, 0])
    walked = []
    for new_B, fresh_B in zip(left_BT.unbind(1), fresh_BT.unbind(1), strict=True):
        now_B = torch.where(fresh_B | (now_B <= 1), new_B, now_B - 1)
        walked.append(now_B)
    return torch.stack(walked, 1)
