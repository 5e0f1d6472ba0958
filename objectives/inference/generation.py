"""Writing text: left to right by a causal model; by filling and refilling masks by one that reads both ways.

Only a causal model defines the probability of what it writes. A masked model defines no joint distribution: what its
samples are samples of depends on the procedure.

N samples, L tokens to write, T positions, O of them open, V vocabulary.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from objectives.inference.language_model import LanguageModel, inference_mode
from objectives.training.randomness import Key, uniform

LOGITS_AT_ONCE = 2**22
"""Asked positions times vocabulary of one forward pass."""


@dataclass(frozen=True)
class Sampling:
    """How tokens are drawn. Each draw depends on seed, sample and place alone: not on how many samples there are."""

    temperature: float = 1.0
    """Divides the logits; 0 takes the most probable token."""
    top_p: float = 1.0
    """Draw from the most probable tokens that together have this probability (Holtzman et al. 2020)."""
    seed: int = 0
    """Of the draws."""

    def __post_init__(self) -> None:
        if not (self.temperature == 0 or 1e-3 <= self.temperature <= 1e3) or not 0 < self.top_p <= 1:
            raise ValueError(
                f"temperature must be 0 or from 0.001 to 1000, and top_p in (0, 1], but they are {self.temperature} "
                f"and {self.top_p}"
            )
        if not 0 <= self.seed < 2**63:
            raise ValueError(f"the seed must be from 0 to 2**63 - 1, but is {self.seed}")

    def draws(self, samples: Sequence[int], purpose: str, length: int, device: torch.device) -> Tensor:
        """Numbers in [0, 1), (N, length) float64."""
        index_N = torch.tensor(list(samples), device=device)
        return uniform(Key(self.seed, torch.zeros_like(index_N), index_N), purpose, length)

    def choose(self, logits_NV: Tensor, allowed_V: Tensor, draws_N: Tensor) -> tuple[Tensor, Tensor]:
        """A token for each row, and its log-probability before temperature and top-p; both (N,).

        Both are among the allowed tokens only.

        Raises:
            ValueError: when logits are not numbers.
        """
        if logits_NV.isnan().any():
            raise ValueError("the model's logits are not numbers: its training has diverged")
        logits_NV = logits_NV.double().masked_fill(~allowed_V, -torch.inf)
        nats_NV = logits_NV.log_softmax(-1)
        if self.temperature == 0:
            chosen_N = nats_NV.argmax(-1)
        else:
            ranked_NV, order_NV = (logits_NV / self.temperature).softmax(-1).sort(stable=True, descending=True)
            cumulative_NV = ranked_NV.cumsum(-1)
            ranked_NV = ranked_NV.masked_fill(cumulative_NV - ranked_NV >= self.top_p, 0)
            cumulative_NV = ranked_NV.cumsum(-1)
            # Rounding must not push a draw behind the last token that may be drawn.
            last_N = (ranked_NV > 0).sum(-1) - 1
            place_N = torch.searchsorted(cumulative_NV, (draws_N * cumulative_NV[:, -1])[:, None], right=True)[:, 0]
            chosen_N = order_NV.gather(1, torch.minimum(place_N, last_N)[:, None])[:, 0]
        return chosen_N, nats_NV.gather(1, chosen_N[:, None])[:, 0]


def samples_at_once(model: LanguageModel, length: int) -> int:
    """How many samples fit into one call without need of much memory."""
    questions = 1 if model.causal else length
    return max(1, LOGITS_AT_ONCE // (questions * model.vocabulary_size))


def left_to_right(
    model: LanguageModel, prompt: Sequence[int], samples: Sequence[int], length: int, sampling: Sampling
) -> list[list[int]]:
    """Continuations of a prompt, token by token from p(x_t | x_<t), each until its end token or `length` tokens.

    Args:
        model: a causal model.
        prompt: ids without special tokens.
        samples: numbers of the samples to write, N of them; a sample's draws go by its number.
        length: most tokens to write, L.

    Raises:
        ValueError: when the model is not causal, has nothing to begin with, or prompt and text are too long for it.
    """
    if not model.causal:
        raise ValueError("this model reads both ways and cannot write from left to right")
    _check_length(model, prompt, length)
    row = [*model.bos, *prompt]
    if not row:
        raise ValueError("this model knows no token for the beginning of a text; give a prompt")
    allowed_V = model.regular_V
    if model.end_of_text is not None:
        allowed_V[model.end_of_text] = True
    draws_NL = sampling.draws(samples, "left to right", length, model.device)
    written: list[list[int]] = [[] for _ in samples]
    open_rows = set(range(len(samples)))
    with inference_mode(model.module):
        following = model.continuation()
        tokens_NT = torch.tensor(row, device=model.device).repeat(len(samples), 1)
        for step in range(length):
            chosen_N, _ = sampling.choose(following(tokens_NT), allowed_V, draws_NL[:, step])
            for index, token in enumerate(chosen_N.tolist()):
                if token == model.end_of_text:
                    open_rows.discard(index)
                elif index in open_rows:
                    written[index].append(token)
            if not open_rows:
                break
            tokens_NT = chosen_N[:, None]
    return written


def unmasking(
    model: LanguageModel, prompt: Sequence[int], samples: Sequence[int], length: int, sampling: Sampling
) -> list[list[int]]:
    """`length` masks behind a prompt, filled one a step: the drawn token in which the model is most confident stays.

    After Ghazvininejad et al. 2019 (Mask-Predict) with one token a step and no second thoughts. Arguments and errors as
    of `left_to_right`, for a model that reads both ways.
    """
    rows_NT, places_L, _ = _masked_rows(model, prompt, len(samples), length)
    open_NT = torch.zeros_like(rows_NT, dtype=torch.bool)
    open_NT[:, places_L] = True
    allowed_V = model.regular_V
    with inference_mode(model.module):
        for step in range(length):
            draws_NL = sampling.draws(samples, f"unmasking {step}", length, model.device)
            logits = model.logits(rows_NT, open_NT)
            tokens, nats = sampling.choose(logits, allowed_V, draws_NL[open_NT[:, places_L]])
            # Every row has as many open places, here in the order of reading.
            places_NO = open_NT.nonzero()[:, 1].view(len(rows_NT), -1)
            best_N1 = nats.view_as(places_NO).argmax(1, keepdim=True)
            place_N1 = places_NO.gather(1, best_N1)
            rows_NT.scatter_(1, place_N1, tokens.view_as(places_NO).gather(1, best_N1))
            open_NT.scatter_(1, place_N1, False)
    return rows_NT[:, places_L].tolist()


def gibbs(
    model: LanguageModel,
    prompt: Sequence[int],
    samples: Sequence[int],
    length: int,
    sampling: Sampling,
    sweeps: int = 10,
) -> list[list[int]]:
    """Masks behind a prompt, each in turn masked again and drawn anew from its conditional, `sweeps` times over.

    Wang & Cho 2019 ("BERT has a mouth, and it must speak") with the places in a random order in each sweep; the first
    sweep fills them. Arguments and errors as of `left_to_right`, for a model that reads both ways.
    """
    if sweeps < 1:
        raise ValueError(f"sweeps must be at least 1, but is {sweeps}")
    rows_NT, places_L, mask = _masked_rows(model, prompt, len(samples), length)
    allowed_V = model.regular_V
    with inference_mode(model.module):
        for sweep in range(sweeps):
            order_NL = sampling.draws(samples, f"order {sweep}", length, model.device).argsort(1)
            draws_NL = sampling.draws(samples, f"gibbs {sweep}", length, model.device)
            for step in range(length):
                place_N1 = places_L[order_NL[:, step : step + 1]]
                rows_NT.scatter_(1, place_N1, mask)
                targeted_NT = torch.zeros_like(rows_NT, dtype=torch.bool).scatter_(1, place_N1, True)
                logits_NV = model.logits(rows_NT, targeted_NT)
                tokens_N, _ = sampling.choose(logits_NV, allowed_V, draws_NL[:, step])
                rows_NT.scatter_(1, place_N1, tokens_N[:, None])
    return rows_NT[:, places_L].tolist()


def _masked_rows(model: LanguageModel, prompt: Sequence[int], samples: int, length: int) -> tuple[Tensor, Tensor, int]:
    """Rows (N, T) of prompt and masks, the places (L,) of the masks, and the mask."""
    if model.causal:
        raise ValueError("this model reads from left to right only and cannot fill masks; write left to right")
    if model.mask is None:
        raise ValueError("this model's tokenizer has no mask token to fill")
    _check_length(model, prompt, length)
    row = [*model.bos, *prompt, *[model.mask] * length, *model.eos]
    first = len(model.bos) + len(prompt)
    places_L = torch.arange(first, first + length, device=model.device)
    return torch.tensor(row, device=model.device).repeat(samples, 1), places_L, model.mask


def _check_length(model: LanguageModel, prompt: Sequence[int], length: int) -> None:
    if length < 1:
        raise ValueError(f"the number of tokens to write must be at least 1, but is {length}")
    if len(prompt) + length > model.max_tokens:
        raise ValueError(
            f"a prompt of {len(prompt)} tokens and {length} more are too long: the model has room for {model.max_tokens} "
            f"beside special tokens"
        )
