"""Text generation: from left to right by a causal model, by filling and redrawing masks by a masked one.

A causal model defines the probability of the text it generates, and so does one that is trained by masked diffusion,
given the number of tokens, where masks are filled in `random_order`. A masked language model defines no joint
distribution: the distribution of its samples depends on the procedure.

N samples, L tokens to generate, T positions, U of them still masked, V vocabulary.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from objectives.inference.language_model import LanguageModel, inference_mode
from objectives.training.randomness import Key, uniform

LOGITS_AT_ONCE = 2**22
"""Target positions times vocabulary of one forward pass."""


@dataclass(frozen=True)
class Sampling:
    """How tokens are drawn. A draw depends on seed, sample and position alone, not on the number of samples."""

    temperature: float = 1.0
    """Divides the logits; 0 always takes the most probable token."""
    top_p: float = 1.0
    """Draw from the most probable tokens that together have this probability (Holtzman et al. 2020)."""
    seed: int = 0
    """Seed of the draws."""

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
        """An allowed token for each row, and its log-probability among those, without temperature and top-p; both (N,).

        Raises:
            ValueError: when logits are not numbers.
        """
        if logits_NV.isnan().any():
            raise ValueError("the model's logits are not numbers: its training has diverged")
        logits_NV = logits_NV.double().masked_fill(~allowed_V, -torch.inf)
        nats_NV = logits_NV.log_softmax(-1)
        chosen_N = nats_NV.argmax(-1) if self.temperature == 0 else self._draw(logits_NV, draws_N)
        return chosen_N, nats_NV.gather(1, chosen_N[:, None])[:, 0]

    def _draw(self, logits_NV: Tensor, draws_N: Tensor) -> Tensor:
        ranked_NV, order_NV = (logits_NV / self.temperature).softmax(-1).sort(stable=True, descending=True)
        cumulative_NV = ranked_NV.cumsum(-1)
        ranked_NV = ranked_NV.masked_fill(cumulative_NV - ranked_NV >= self.top_p, 0)
        cumulative_NV = ranked_NV.cumsum(-1)
        # Rounding must not push a draw past the last token that may be drawn.
        last_N = (ranked_NV > 0).sum(-1) - 1
        rank_N = torch.searchsorted(cumulative_NV, (draws_N * cumulative_NV[:, -1])[:, None], right=True)[:, 0]
        return order_NV.gather(1, torch.minimum(rank_N, last_N)[:, None])[:, 0]


def samples_at_once(model: LanguageModel, length: int) -> int:
    """How many samples one call should generate, to bound its memory."""
    targets = 1 if model.causal else length
    return max(1, LOGITS_AT_ONCE // (targets * model.vocabulary_size))


def left_to_right(
    model: LanguageModel, prompt: Sequence[int], samples: Sequence[int], length: int, sampling: Sampling
) -> list[list[int]]:
    """Continuations of a prompt, token by token from p(x_t | x_<t), each until its end token or `length` tokens.

    Args:
        model: a causal model.
        prompt: ids without special tokens.
        samples: numbers of the samples to generate, N of them; the draws of a sample depend on its number.
        length: largest number of tokens to generate, L.

    Raises:
        ValueError: when the model is not causal, there is neither a prompt nor a beginning-of-sentence token, or prompt
            and text are too long for the model.
    """
    if not model.causal:
        raise ValueError("this model reads both ways and cannot generate from left to right")
    _check_length(model, prompt, length)
    prefix = [*model.bos, *prompt]
    if not prefix:
        raise ValueError("this model has no beginning-of-sentence token; give a prompt")
    allowed_V = model.regular_V
    if model.end_of_text is not None:
        allowed_V[model.end_of_text] = True
    draws_NL = sampling.draws(samples, "left to right", length, model.device)
    texts: list[list[int]] = [[] for _ in samples]
    unfinished = set(range(len(samples)))
    with inference_mode(model.module):
        extend = model.continuation()
        tokens_NT = torch.tensor(prefix, device=model.device).repeat(len(samples), 1)
        for step in range(length):
            chosen_N, _ = sampling.choose(extend(tokens_NT), allowed_V, draws_NL[:, step])
            for index, token in enumerate(chosen_N.tolist()):
                if token == model.end_of_text:
                    unfinished.discard(index)
                elif index in unfinished:
                    texts[index].append(token)
            if not unfinished:
                break
            tokens_NT = chosen_N[:, None]
    return texts


def unmasking(
    model: LanguageModel, prompt: Sequence[int], samples: Sequence[int], length: int, sampling: Sampling
) -> list[list[int]]:
    """`length` masks after a prompt, filled one a step: of the tokens drawn at all masks, the most probable one stays.

    After Ghazvininejad et al. 2019 (Mask-Predict), with one token a step and none masked again. The order depends on
    what is drawn and favours probable tokens: see `random_order` for samples of a model's own distribution. Arguments
    and errors as of `left_to_right`, for a masked model.
    """
    rows_NT, positions_L, _ = _masked_rows(model, prompt, len(samples), length)
    masked_NT = torch.zeros_like(rows_NT, dtype=torch.bool)
    masked_NT[:, positions_L] = True
    allowed_V = model.regular_V
    with inference_mode(model.module):
        for step in range(length):
            draws_NL = sampling.draws(samples, f"unmasking {step}", length, model.device)
            logits = model.logits(rows_NT, masked_NT)
            tokens, nats = sampling.choose(logits, allowed_V, draws_NL[masked_NT[:, positions_L]])
            # Every row has equally many masks left, so what was drawn for them makes a matrix.
            positions_NU = masked_NT.nonzero()[:, 1].view(len(rows_NT), -1)
            best_N1 = nats.view_as(positions_NU).argmax(1, keepdim=True)
            position_N1 = positions_NU.gather(1, best_N1)
            rows_NT.scatter_(1, position_N1, tokens.view_as(positions_NU).gather(1, best_N1))
            masked_NT.scatter_(1, position_N1, False)
    return rows_NT[:, positions_L].tolist()


def random_order(
    model: LanguageModel, prompt: Sequence[int], samples: Sequence[int], length: int, sampling: Sampling
) -> list[list[int]]:
    """`length` masks after a prompt, filled one a step in an order that is uniformly random.

    Without temperature and top-p these are samples of the any-order distribution given the prompt: the mean over orders
    of the product of the conditionals, with special tokens left out. Without a prompt, it is what the ELBO is a bound
    of (Uria et al. 2014; Ou et al. 2024). This is the first sweep of `gibbs`. Arguments and errors as of
    `left_to_right`, for a masked model.
    """
    return gibbs(model, prompt, samples, length, sampling, sweeps=1)


def gibbs(
    model: LanguageModel,
    prompt: Sequence[int],
    samples: Sequence[int],
    length: int,
    sampling: Sampling,
    sweeps: int = 10,
) -> list[list[int]]:
    """Gibbs sampling after a prompt: each position in turn is masked and drawn from its conditional, `sweeps` times.

    Wang & Cho 2019 ("BERT has a mouth, and it must speak"), with a random order of positions in each sweep; all are
    masked at first. Arguments and errors as of `left_to_right`, for a masked model.
    """
    if sweeps < 1:
        raise ValueError(f"sweeps must be at least 1, but is {sweeps}")
    rows_NT, positions_L, mask = _masked_rows(model, prompt, len(samples), length)
    allowed_V = model.regular_V
    with inference_mode(model.module):
        for sweep in range(sweeps):
            order_NL = sampling.draws(samples, f"order {sweep}", length, model.device).argsort(1)
            draws_NL = sampling.draws(samples, f"gibbs {sweep}", length, model.device)
            for step in range(length):
                position_N1 = positions_L[order_NL[:, step : step + 1]]
                rows_NT.scatter_(1, position_N1, mask)
                targeted_NT = torch.zeros_like(rows_NT, dtype=torch.bool).scatter_(1, position_N1, True)
                logits_NV = model.logits(rows_NT, targeted_NT)
                tokens_N, _ = sampling.choose(logits_NV, allowed_V, draws_NL[:, step])
                rows_NT.scatter_(1, position_N1, tokens_N[:, None])
    return rows_NT[:, positions_L].tolist()


def _masked_rows(model: LanguageModel, prompt: Sequence[int], samples: int, length: int) -> tuple[Tensor, Tensor, int]:
    """Rows (N, T) of prompt and masks, the positions (L,) of the masks, and the id of the mask token."""
    if model.causal:
        raise ValueError("this model reads from left to right only and cannot fill masks; use left_to_right")
    if model.mask is None:
        raise ValueError("this model's tokenizer has no mask token to fill")
    _check_length(model, prompt, length)
    row = [*model.bos, *prompt, *[model.mask] * length, *model.eos]
    first = len(model.bos) + len(prompt)
    positions_L = torch.arange(first, first + length, device=model.device)
    return torch.tensor(row, device=model.device).repeat(samples, 1), positions_L, model.mask


def _check_length(model: LanguageModel, prompt: Sequence[int], length: int) -> None:
    if length < 1:
        raise ValueError(f"the number of tokens to generate must be at least 1, but is {length}")
    if len(prompt) + length > model.max_tokens:
        raise ValueError(
            f"a prompt of {len(prompt)} tokens and {length} more are too long: the model has room for "
            f"{model.max_tokens} besides special tokens"
        )
