"""Masked diffusion with exact posteriors costs the entropy, as every order of the chain rule does."""

import itertools
import math

import numpy as np
import pytest
import torch

from experiments.languages.hidden_markov import HiddenMarkov
from experiments.languages.hidden_markov_bayes import bayes_loss, clm_bayes_loss
from objectives import IGNORE, MaskedDiffusion, Noise, View, evaluation_key
from tests.support.known_rules import text_probabilities
from tests.support.objectives import build

TINY = HiddenMarkov(2, 3, transition_concentration=0.7, emission_concentration=0.7, length=4, seed=1)
THREE = HiddenMarkov(3, 2, transition_concentration=0.5, emission_concentration=0.6, length=3, seed=2)
MASK = 4


def subset_nats(language):
    """By subset of masked positions: −log p of the masked symbols, each given all that is shown, of every text with
    its probability; summed over the subset, (texts,)."""
    texts = [text for text, p in text_probabilities(language).items() if p]
    tokens = language.tokens_BT(torch.tensor(texts))
    found = {}
    for size in range(1, language.length + 1):
        for masked in itertools.combinations(range(language.length), size):
            hidden = torch.zeros_like(tokens, dtype=torch.bool)
            hidden[:, [1 + place for place in masked]] = True
            targets = tokens.masked_fill(~hidden, IGNORE)
            inputs = tokens.masked_fill(hidden, MASK)
            view = View(inputs, targets, "bidirectional", hidden, channel=Noise(0.5, 1, 0, 0))
            found[masked] = bayes_loss(language, view, tokens).sum(1)
    whole = torch.tensor([-math.log(text_probabilities(language)[text]) for text in texts], dtype=torch.float64)
    return found, whole


@pytest.mark.parametrize("language", [TINY, THREE])
def test_over_all_rates_it_is_the_entropy_of_every_text(language):
    """∫ (1 / r) Σ over subsets of r^k (1 − r)^(n − k) · nats dr, a polynomial in r: Gauss's quadrature is exact."""
    found, whole = subset_nats(language)
    places, weights = np.polynomial.legendre.leggauss(8)
    bound = torch.zeros_like(whole)
    for rate, weight in zip((places + 1) / 2, weights / 2, strict=True):
        for masked, nats in found.items():
            k = len(masked)
            bound += weight / rate * rate**k * (1 - rate) ** (language.length - k) * nats
    torch.testing.assert_close(bound, whole, rtol=0, atol=1e-10)


@pytest.mark.parametrize("language", [TINY, THREE])
def test_over_all_numbers_of_masks_it_is_the_entropy_of_every_text(language):
    found, whole = subset_nats(language)
    n = language.length
    bound = sum(n / len(masked) / n / math.comb(n, len(masked)) * nats for masked, nats in found.items())
    torch.testing.assert_close(bound, whole, rtol=0, atol=1e-10)


@pytest.mark.parametrize("lowest", [0.0, 0.001])
def test_the_views_of_masked_diffusion_cost_the_entropy_on_average(lowest):
    """With its own rates, masks and weights, on the default language: block by block beside −log p of the block."""
    language = HiddenMarkov()
    index = torch.arange(4000)
    tokens = language.tokens_BT(language.sample("validation", index)[1])
    (view,) = build(MaskedDiffusion, vocabulary=language.vocabulary(), lowest=lowest).views(
        tokens, evaluation_key(index)
    )
    weighted = (view.weights_BT * bayes_loss(language, view, tokens)).sum(1)
    difference = weighted - clm_bayes_loss(language, tokens).sum(1)
    assert abs(float(difference.mean())) < 4 * float(difference.std()) / math.sqrt(len(index))
    assert float(difference.std()) / math.sqrt(len(index)) < 0.02 * float(weighted.mean()), "a test that sees something"
