"""The bound on the probability of a sentence: against all subsets, one forward pass each."""

import itertools
import math

import pytest
import torch

from objectives import CLM, MaskedDiffusion
from objectives.inference.elbo import evidence_lower_bound, masked_subsets
from objectives.inference.language_model import ObjectiveLanguageModel
from objectives.inference.scoring import score_sentences, total
from tests.support.objectives import VOCABULARY, build, log_softmax, own_scores

SENTENCES = [[5, 9, 9, 12], [20], [6, 7, 8, 21, 30, 1, 39]]


def masked_nats(objective, sentence, masked):
    """log p of each masked token, by position, in one pass."""
    row = [VOCABULARY.cls, *(VOCABULARY.mask if i in masked else t for i, t in enumerate(sentence)), VOCABULARY.sep]
    return {i: log_softmax(objective, row, i + 1)[sentence[i]].item() for i in masked}


def exact_bound(objective, sentence):
    """What each token adds, by all subsets."""
    n = len(sentence)
    added = [0.0] * n
    for k in range(1, n + 1):
        for masked in itertools.combinations(range(n), k):
            for i, nats in masked_nats(objective, sentence, masked).items():
                added[i] += nats / k / math.comb(n, k)  # n / k, and k is uniform on 1 … n
    return added


def test_exact_bound_is_the_mean_over_orders_of_the_chain_rule():
    """The reference itself, by the definition of an any-order model."""
    objective, sentence = build(MaskedDiffusion).eval(), [5, 9, 30]
    orders = list(itertools.permutations(range(3)))
    by_orders = sum(
        masked_nats(objective, sentence, order[place:])[order[place]] for order in orders for place in range(3)
    )
    assert sum(exact_bound(objective, sentence)) == pytest.approx(by_orders / len(orders), abs=1e-9)


def test_the_estimate_is_the_weighted_mean_over_its_subsets():
    objective = build(MaskedDiffusion).eval()
    model = ObjectiveLanguageModel(objective)
    for sentence, scores in zip(SENTENCES, evidence_lower_bound(model, SENTENCES, 6), strict=True):
        added, sums = [0.0] * len(sentence), []
        for subset in masked_subsets([sentence], 6):
            masked = subset.nonzero().flatten().tolist()
            nats = masked_nats(objective, sentence, masked)
            sums.append(len(sentence) / len(masked) * sum(nats.values()))
            for i, value in nats.items():
                added[i] += len(sentence) / len(masked) * value / 6
        assert scores == pytest.approx(added, abs=1e-5)
        assert total(scores) == pytest.approx(sum(sums) / 6, abs=1e-4)
        error = math.sqrt(sum((one - other) ** 2 for one, other in zip(sums[::2], sums[1::2], strict=True))) / 6
        assert scores.standard_error == pytest.approx(error, abs=1e-4)


def test_estimates_are_unbiased_and_their_standard_errors_right():
    """Over sentences, whose errors are independent."""
    objective = build(MaskedDiffusion).eval()
    sentences = torch.randint(5, 40, (60, 4), generator=torch.Generator().manual_seed(0)).tolist()
    exact = [exact_bound(objective, sentence) for sentence in sentences]
    for samples in (16, 64):
        found = evidence_lower_bound(ObjectiveLanguageModel(objective), sentences, samples)
        deviations = [total(scores) - sum(added) for scores, added in zip(found, exact, strict=True)]
        variance = sum(scores.standard_error**2 for scores in found)
        assert abs(sum(deviations)) < 4 * math.sqrt(variance)
        assert sum(one**2 for one in deviations) / variance == pytest.approx(1, abs=0.4)
        for place in range(4):
            off = [scores[place] - added[place] for scores, added in zip(found, exact, strict=True)]
            assert abs(sum(off)) < 5 * math.sqrt(sum(one**2 for one in off))


def test_of_one_token_and_of_none_the_bound_is_exact():
    objective = build(MaskedDiffusion).eval()
    one, none = evidence_lower_bound(ObjectiveLanguageModel(objective), [[20], []], 2)
    assert one == pytest.approx([masked_nats(objective, [20], [0])[0]], abs=1e-5)
    assert none == [] and one.standard_error == none.standard_error == 0


def test_numbers_of_masks_are_stratified_and_subsets_uniform():
    sentences = torch.arange(400)[:, None].expand(-1, 6).tolist()
    masked = masked_subsets(sentences, 12).view(400, 12, 6)
    counts = masked.sum(2)
    assert torch.equal(counts, (torch.arange(12) // 2 + 1).expand(400, -1)), "two samples for each number"
    few = masked_subsets(sentences, 2).view(400, 2, 6).sum(2)
    assert torch.bincount(few.flatten(), minlength=7)[1:].min() > 90  # of 800, 133 each on average
    for k in range(1, 6):
        shares = masked[:, 2 * k - 2 : 2 * k].double().mean((0, 1))
        assert (shares - k / 6).abs().max() < 5 * math.sqrt(k / 6 * (1 - k / 6) / 800)
    assert (masked[:, 0] != masked[:, 1]).any(1).double().mean() > 0.7, "the two samples of a part differ"


def test_scores_depend_on_the_sentence_alone(monkeypatch):
    model = ObjectiveLanguageModel(build(MaskedDiffusion))
    expected = evidence_lower_bound(model, SENTENCES, 8)
    many = torch.randint(5, 40, (20, 4), generator=torch.Generator().manual_seed(0)).tolist()
    for size in (4096, 30, 1):
        monkeypatch.setattr("objectives.inference.elbo.TOKENS_PER_BATCH", size)
        for before in ([], many):
            found = evidence_lower_bound(model, [*before, *SENTENCES], 8)[len(before) :]
            for one, other in zip(found, expected, strict=True):
                assert one == pytest.approx(other, abs=1e-5)
                assert one.standard_error == pytest.approx(other.standard_error, abs=1e-5)
    one, other = evidence_lower_bound(model, [[7, 8, 9], [7, 8, 10]], 2)
    assert one[:2] != other[:2]


def test_the_bound_by_name():
    objective = build(MaskedDiffusion)
    model = ObjectiveLanguageModel(objective)
    assert own_scores(objective, SENTENCES) == evidence_lower_bound(model, SENTENCES)
    assert score_sentences(model, SENTENCES, "elbo", samples=4) == evidence_lower_bound(model, SENTENCES, 4)
    with pytest.raises(ValueError, match="has no windows"):
        score_sentences(model, SENTENCES, "elbo", window=True)
    assert score_sentences(model, SENTENCES, "pll") != own_scores(objective, SENTENCES)


def test_what_has_no_bound_is_refused():
    masked, causal = ObjectiveLanguageModel(build(MaskedDiffusion)), ObjectiveLanguageModel(build(CLM))
    for samples in (0, 3, -2):
        with pytest.raises(ValueError, match="even number"):
            evidence_lower_bound(masked, SENTENCES, samples)
    with pytest.raises(ValueError, match="needs no bound; score it by chain_rule"):
        evidence_lower_bound(causal, SENTENCES)
    with pytest.raises(ValueError, match="room for 62"):
        evidence_lower_bound(masked, [[5] * 63])
    masked.mask = None
    with pytest.raises(ValueError, match="no mask token"):
        evidence_lower_bound(masked, SENTENCES)
