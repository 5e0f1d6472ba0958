"""Bayes losses on a hidden Markov language, and Bayes accuracies of naming its hidden states.

They are exact, in float64 on the CPU, and independent of any model: the forward–backward recursions of Baum et al.
(1970; Rabiner 1989), with the corruption of MLM as a noisy channel. README.md derives the formulas.

B blocks, L symbols of a block, T positions of a block (T = L + 2), S states, V symbols.
"""

from __future__ import annotations

from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor

from experiments.languages.hidden_markov import FIRST_SYMBOL, HiddenMarkov
from objectives import IGNORE, Noise, Past, PastOrNoise, View

StateView = Literal["token", "past", "both"]
"""What a hidden state is named from: the token alone, all tokens up to it, or the whole block."""


def bayes_loss(language: HiddenMarkov, view: View, tokens_BT: Tensor) -> Tensor | None:
    """Least possible nats at each target position of a view of clean blocks, (B, T) float64, 0 elsewhere.

    None where what the inputs say of the targets has no simple form: where the view has no channel.
    """
    if isinstance(view.channel, Noise):
        return _noise_loss(language, view.inputs_BT, view.targets_BT, view.shift, view.channel)
    if not isinstance(view.channel, Past | PastOrNoise):
        return None
    nats_BT = clm_bayes_loss(language, tokens_BT).masked_fill(view.targets_BT.cpu() == IGNORE, 0.0)
    if isinstance(view.channel, PastOrNoise):
        assert isinstance(view.attention, Tensor), "a mask says which blocks are causal"
        noisy_B = view.attention[:, 0, 0, -1].cpu()
        inputs_BT, targets_BT = view.inputs_BT.cpu()[noisy_B], view.targets_BT.cpu()[noisy_B]
        nats_BT[noisy_B] = _noise_loss(language, inputs_BT, targets_BT, view.shift, view.channel.noise)
    return nats_BT


def _noise_loss(language: HiddenMarkov, inputs_BT: Tensor, targets_BT: Tensor, shift: int, noise: Noise) -> Tensor:
    """`mlm_bayes_loss` of targets that are `shift` positions before their tokens, there."""
    return _later(mlm_bayes_loss(language, inputs_BT, _later(targets_BT, shift, IGNORE), noise), -shift, 0.0)


def clm_bayes_loss(language: HiddenMarkov, tokens_BT: Tensor) -> Tensor:
    """−log p(x_{t+1} | x_1 … x_t) at each position t, in nats; (B, T) float64, aligned with the targets of CLM.

    Exactly 0 at the position before [SEP], because the length is known, and at the last one, which has no target. A
    row sums to −log p(x_1 … x_L).

    Args:
        tokens_BT: clean blocks `[CLS] x_1 … x_L [SEP]`.

    Raises:
        ValueError: when a row is not such a block, or is one that the language cannot produce.
    """
    emitted_BLS = language.emission_SV.T[_symbols(language, tokens_BT)]
    past_BLS = _past(language, emitted_BLS)
    nats_BL = -(past_BLS * emitted_BLS).sum(-1).log()
    return F.pad(_finite(nats_BL, "this language"), (0, 2))


def mlm_bayes_loss(language: HiddenMarkov, inputs_BT: Tensor, targets_BT: Tensor, noise: Noise) -> Tensor:
    """−log p(x_i | inputs, i is a target) at each target position i, in nats; (B, T) float64, 0 elsewhere.

    It is conditioned on what a model is given, no more: which of the other positions are targets has to be inferred.

    Args:
        inputs_BT: corrupted blocks, as the encoder reads them.
        targets_BT: the true token at the target positions, IGNORE (-100) elsewhere.
        noise: what made the inputs and the targets of the clean blocks.

    Raises:
        ValueError: when a row is not a block, or the inputs cannot arise under this noise.
    """
    shown_BL = _symbols(language, inputs_BT, corrupted=True)
    true_BL = targets_BT.cpu()[:, 1:-1] - FIRST_SYMBOL
    targeted_BL = targets_BT.cpu()[:, 1:-1] != IGNORE
    if (targets_BT.cpu()[:, [0, -1]] != IGNORE).any() or (true_BL[targeted_BL] < 0).any():
        raise ValueError("special tokens are never targets here: targets must be symbols, or IGNORE (-100)")
    masked_BL = shown_BL < 0
    emits_VS = language.emission_SV.T

    # Positions that may or may not be selected: how likely each state makes what is shown.
    rate = noise.rate
    stays, drawn, hidden = 1 - rate + rate * noise.keep, rate * noise.random, rate * noise.mask
    emits_shown_BLS = emits_VS[shown_BL.clamp(min=0)]
    evidence_BLS = stays * emits_shown_BLS + drawn / language.symbols
    evidence_BLS[masked_BL] = hidden
    context_BLS = _past(language, evidence_BLS) * _future(language, evidence_BLS)
    context_BLS = context_BLS / context_BLS.sum(-1, keepdim=True)

    # The target position: p(x | all others), then what is shown of x, and that it is a target.
    stays = noise.predicted_besides * (1 - rate) + noise.predicted * rate * noise.keep
    drawn, hidden = noise.predicted * drawn / language.symbols, noise.predicted * hidden
    true_prior_BL = (context_BLS * emits_VS[true_BL.clamp(min=0)]).sum(-1)
    shown_prior_BL = (context_BLS * emits_shown_BLS).sum(-1)
    channel_BL = stays * (true_BL == shown_BL).double() + drawn
    normaliser_BL = stays * shown_prior_BL + drawn
    channel_BL[masked_BL] = normaliser_BL[masked_BL] = hidden
    nats_BL = -(true_prior_BL.log() + channel_BL.log() - normaliser_BL.log())
    return F.pad(_finite(nats_BL.masked_fill(~targeted_BL, 0.0), f"this language and {noise}"), (1, 1))


def state_posteriors(language: HiddenMarkov, symbols_BL: Tensor, view: StateView) -> Tensor:
    """What clean text says about each hidden state; (B, L, S) float64, rows sum to 1.

    "token": p(z_t | x_t). "past" (filtering): p(z_t | x_1 … x_t), all that a causal model has read at position t.
    "both" (smoothing): p(z_t | x_1 … x_L), all that a bidirectional one has.

    Raises:
        ValueError: for another view, or when the language cannot produce a block.
    """
    emitted_BLS = language.emission_SV.T[symbols_BL.cpu()]
    if view == "token":
        joint_BLS = language.initial_S * emitted_BLS
    elif view == "past":
        joint_BLS = _past(language, emitted_BLS) * emitted_BLS
    elif view == "both":
        joint_BLS = _past(language, emitted_BLS) * emitted_BLS * _future(language, emitted_BLS)
    else:
        raise ValueError(f'view is "token", "past" or "both", but is {view!r}')
    return _finite(joint_BLS / joint_BLS.sum(-1, keepdim=True), "this language")


def bayes_accuracy(posteriors_BLS: Tensor) -> Tensor:
    """Expected accuracy, in each block, of naming the most probable state; (B,) float64. No classifier that knows as
    much does better."""
    return posteriors_BLS.max(-1).values.mean(1)


def _past(language: HiddenMarkov, evidence_BLS: Tensor) -> Tensor:
    """p(z_t | evidence before t); (B, L, S)."""
    return _sweep(language.initial_S, language.transition_SS, evidence_BLS)


def _future(language: HiddenMarkov, evidence_BLS: Tensor) -> Tensor:
    """p(evidence after t | z_t), up to a factor for each position; (B, L, S)."""
    ones_S = torch.ones_like(language.initial_S)
    return _sweep(ones_S, language.transition_SS.T, evidence_BLS.flip(1)).flip(1)


def _sweep(start_S: Tensor, step_SS: Tensor, evidence_BLS: Tensor) -> Tensor:
    """The message that arrives at each position, normalised at each step: long blocks would underflow."""
    message_BS = start_S.expand(evidence_BLS.shape[0], -1)
    messages = [message_BS]
    for evidence_BS in evidence_BLS.unbind(1)[:-1]:
        joint_BS = message_BS * evidence_BS
        message_BS = (joint_BS / joint_BS.sum(-1, keepdim=True)) @ step_SS
        messages.append(message_BS)
    return torch.stack(messages, dim=1)


def _symbols(language: HiddenMarkov, tokens_BT: Tensor, corrupted: bool = False) -> Tensor:
    """The symbols of blocks, (B, L) int64 on the CPU; -1 where a corrupted block shows [MASK]."""
    tokens_BT = tokens_BT.cpu()
    vocabulary = language.vocabulary()
    symbols_BL = tokens_BT[:, 1:-1] - FIRST_SYMBOL
    least = vocabulary.mask - FIRST_SYMBOL if corrupted else 0
    if (
        tokens_BT.shape[1] != language.block_length
        or (tokens_BT[:, 0] != vocabulary.cls).any()
        or (tokens_BT[:, -1] != vocabulary.sep).any()
        or (symbols_BL < least).any()
        or (symbols_BL >= language.symbols).any()
    ):
        raise ValueError(
            f"the Bayes loss is that of blocks [CLS] x_1 … x_{language.length} [SEP] of {language.symbols} symbols, as "
            f"HiddenMarkov.tokens_BT makes them{', corrupted' if corrupted else ''}; but these rows of "
            f"{tokens_BT.shape[1]} tokens have another length or other tokens"
        )
    return symbols_BL


def _finite(values: Tensor, source: str) -> Tensor:
    """The values, unless one is infinite or undefined: that would be a block of probability 0."""
    if not values.isfinite().all():
        raise ValueError(
            f"some blocks cannot arise under {source}: their probability is 0; check which language they were drawn "
            f"from, and how they were corrupted"
        )
    return values


def _later(values_BT: Tensor, shift: int, fill: float) -> Tensor:
    """Values moved `shift` positions to the right, or to the left if it is negative; what comes in is `fill`."""
    moved_BT = values_BT.roll(shift, dims=1)
    if shift > 0:
        moved_BT[:, :shift] = fill
    elif shift < 0:
        moved_BT[:, shift:] = fill
    return moved_BT
