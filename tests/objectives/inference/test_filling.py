"""Fills against brute force: every possible sentence is scored."""

import itertools
import math

import pytest
import torch

from objectives import CLM, MLM, MaskedNextToken
from objectives.inference.filling import best_fills, blank_distributions, unmask
from objectives.inference.language_model import ObjectiveLanguageModel
from tests.support.objectives import VOCABULARY, build, log_softmax, own_scores

SHIFTS = {MLM: 0, MaskedNextToken: 1}
"""How many positions before a masked token it is predicted."""
REGULAR = [token for token in range(VOCABULARY.size) if token not in VOCABULARY.specials]


def row_of(template):
    return [VOCABULARY.cls, *(VOCABULARY.mask if t is None else t for t in template), VOCABULARY.sep]


@pytest.mark.parametrize("cls", SHIFTS)
@pytest.mark.parametrize("template", [[None], [5, None, 9], [None, 7, None, None]], ids=str)
def test_the_distribution_at_each_blank(cls, template):
    objective = build(cls)
    nats = blank_distributions(ObjectiveLanguageModel(objective), template)
    objective.eval()
    blanks = [position for position, token in enumerate(template) if token is None]
    expected = torch.stack([log_softmax(objective, row_of(template), blank + 1 - SHIFTS[cls]) for blank in blanks])
    torch.testing.assert_close(nats, expected, atol=1e-5, rtol=0)


@pytest.mark.parametrize("cls", SHIFTS)
def test_unmasking_fills_the_most_confident_blank_first(cls):
    objective = build(cls).eval()
    template = [None, 7, None, None, 12]
    found = unmask(ObjectiveLanguageModel(objective), template)
    row, nats, filled = list(template), 0.0, {}
    for _ in range(3):
        best = max(
            (log_softmax(objective, row_of(row), blank + 1 - SHIFTS[cls])[token].item(), blank, token)
            for blank, filled_with in enumerate(row)
            if filled_with is None
            for token in REGULAR
        )
        nats, row[best[1]], filled[best[1]] = nats + best[0], best[2], best[2]
    assert found.fills == tuple(filled[blank] for blank in sorted(filled))
    assert found.nats == pytest.approx(nats, abs=1e-5)


@pytest.mark.parametrize("template", [[5, None, 9, 11], [None, 7, None], [5, None]], ids=str)
def test_best_fills_are_the_best_of_all_sentences(template):
    objective = build(CLM)
    found = best_fills(ObjectiveLanguageModel(objective), template, width=len(REGULAR) ** 2)
    blanks = template.count(None)
    everything = {}
    for fills in itertools.product(REGULAR, repeat=blanks):
        waiting = iter(fills)
        everything[fills] = math.fsum(own_scores(objective, [[next(waiting) if t is None else t for t in template]])[0])
    assert len(found) == len(everything)
    assert {one.fills: pytest.approx(one.nats, abs=1e-4) for one in found} == everything
    assert [one.nats for one in found] == sorted((one.nats for one in found), reverse=True)


def test_a_narrow_beam_keeps_the_best_prefixes():
    objective = build(CLM).eval()
    found = best_fills(ObjectiveLanguageModel(objective), [5, None, 9], width=3)
    left = log_softmax(objective, [VOCABULARY.cls, 5], 1)
    best = sorted(REGULAR, key=lambda token: -left[token].item())[:3]
    assert {one.fills for one in found} == {(token,) for token in best}


def test_a_narrow_beam_ranks_whole_prefixes():
    """Two adjacent blanks and a beam of 4, by hand: the best 4 first tokens, then the best 4 pairs."""
    objective = build(CLM).eval()
    found = best_fills(ObjectiveLanguageModel(objective), [5, None, None], width=4)
    left = log_softmax(objective, [VOCABULARY.cls, 5], 1)
    firsts = sorted(REGULAR, key=lambda token: -left[token].item())[:4]
    pairs = {
        (first, second): (left[first] + log_softmax(objective, [VOCABULARY.cls, 5, first], 2)[second]).item()
        for first in firsts
        for second in REGULAR
    }
    assert {one.fills for one in found} == set(sorted(pairs, key=lambda pair: -pairs[pair])[:4])


def test_models_and_templates_that_do_not_fit_are_refused():
    causal, masked = ObjectiveLanguageModel(build(CLM)), ObjectiveLanguageModel(build(MLM))
    for fill in (lambda text: blank_distributions(masked, text), lambda text: best_fills(causal, text, 5)):
        with pytest.raises(ValueError, match="no blank"):
            fill([5, 6])
        with pytest.raises(ValueError, match="room for 62"):
            fill([None] * 63)
    with pytest.raises(ValueError, match="left to right only"):
        blank_distributions(causal, [None])
    with pytest.raises(ValueError, match="both ways"):
        best_fills(masked, [None], 5)
    causal.bos = ()
    with pytest.raises(ValueError, match="cannot begin with a blank"):
        best_fills(causal, [None, 5], 5)
