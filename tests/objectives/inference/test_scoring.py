"""Scores against brute force: one sentence, one position, one forward pass."""

import math

import pytest
import torch

from objectives import CLM, MLM, Hybrid, MaskedNextToken
from objectives.inference.language_model import ObjectiveLanguageModel
from objectives.inference.pieces import windows
from objectives.inference.scoring import (
    METHODS,
    chain_rule,
    perplexity,
    pseudo_log_likelihood,
    score_sentences,
    total,
)
from tests.support.objectives import VOCABULARY, all_objectives, build, log_softmax, own_scores

SENTENCES = [[5, 9, 9, 12], [20], [6, 7, 8, 21, 30, 1, 39]]
WORDS = [[0, 0, 0, 1], [0], [0, 1, 1, 2, 3, 3, 3]]


def next_token(objective, sentence, position):
    """log p of the token at a position, or of the end after the last, by a pass over the tokens before it."""
    token = [*sentence, VOCABULARY.sep][position]
    return log_softmax(objective, [VOCABULARY.cls, *sentence[:position]], position)[token].item()


SHIFTS = {MLM: 0, MaskedNextToken: 1, Hybrid: 1}
"""Of those that have a pseudo-log-likelihood, how many positions before a masked token it is predicted."""


def masked_token(objective, sentence, position, also=()):
    """log p of the token at a position that is masked, as others are."""
    row = [VOCABULARY.cls, *sentence, VOCABULARY.sep]
    for place in (position, *also):
        row[place + 1] = VOCABULARY.mask
    return log_softmax(objective, row, position + 1 - SHIFTS[type(objective)])[sentence[position]].item()


def assert_close(ours, theirs):
    assert len(ours) == len(theirs)
    for one, other in zip(ours, theirs, strict=True):
        assert one == pytest.approx(other, abs=1e-5)


@pytest.mark.parametrize("end", [False, True])
def test_chain_rule_by_brute_force(end):
    objective = build(CLM).eval()
    expected = [[next_token(objective, one, t) for t in range(len(one) + end)] for one in SENTENCES]
    assert_close(chain_rule(ObjectiveLanguageModel(objective), SENTENCES, end=end), expected)
    if not end:
        assert_close(own_scores(objective, SENTENCES), expected)


def test_chain_rule_is_a_joint_probability():
    """Over all continuations of a prefix, the end token included, the probabilities sum to 1."""
    objective = build(CLM).eval()
    (prefix,) = own_scores(objective, [[5, 9]])
    both = own_scores(objective, [[5, 9, token] for token in range(VOCABULARY.size)])
    assert all(score[:2] == pytest.approx(prefix, abs=1e-5) for score in both)
    assert sum(torch.tensor([score[2] for score in both]).exp()) == pytest.approx(1.0, abs=1e-5)


@pytest.mark.parametrize("cls", SHIFTS)
def test_pseudo_log_likelihood_by_brute_force(cls):
    objective = build(cls).eval()
    expected = [[masked_token(objective, one, t) for t in range(len(one))] for one in SENTENCES]
    assert_close(score_sentences(ObjectiveLanguageModel(objective, "pll"), SENTENCES, "pll"), expected)
    assert_close(pseudo_log_likelihood(ObjectiveLanguageModel(objective, "pll"), SENTENCES), expected)


@pytest.mark.parametrize("cls", SHIFTS)
def test_word_l2r_masks_later_tokens_of_the_word(cls):
    objective = build(cls).eval()
    expected = [
        [
            masked_token(objective, one, t, [u for u in range(t + 1, len(one)) if words[u] == words[t]])
            for t in range(len(one))
        ]
        for one, words in zip(SENTENCES, WORDS, strict=True)
    ]
    assert_close(pseudo_log_likelihood(ObjectiveLanguageModel(objective, "pll"), SENTENCES, WORDS), expected)


def test_an_objective_with_both_kinds_of_scores_reads_as_each_needs():
    """Left to right it has the scores of a causal model of the same weights."""
    hybrid, causal = build(Hybrid).eval(), build(CLM).eval()
    assert_close(own_scores(hybrid, SENTENCES), own_scores(causal, SENTENCES))
    reading = ObjectiveLanguageModel(hybrid).reading_for("pll")
    assert not reading.causal and reading.reading_for("chain_rule").causal


@pytest.mark.parametrize("cls", [CLM, MLM])
def test_many_sentences_come_back_in_order(cls, monkeypatch):
    objective = build(cls)
    generator = torch.Generator().manual_seed(0)
    lengths = torch.randint(0, 12, (40,), generator=generator)
    sentences = [torch.randint(5, 40, (int(length),), generator=generator).tolist() for length in lengths]
    sentences += sentences[:5]
    expected = [own_scores(objective, [sentence])[0] for sentence in sentences]
    assert_close(own_scores(objective, sentences), expected)
    monkeypatch.setattr("objectives.inference.scoring.TOKENS_PER_BATCH", 30)
    assert_close(own_scores(objective, sentences), expected)
    monkeypatch.setattr("objectives.inference.scoring.LOGITS_PER_BATCH", 1)
    assert_close(own_scores(objective, sentences), expected)


@pytest.mark.parametrize("cls", [CLM, MLM])
def test_equal_sentences_are_scored_once(cls, monkeypatch):
    language_model = ObjectiveLanguageModel(build(cls))
    seen = []
    honest = language_model.logits
    monkeypatch.setattr(
        language_model, "logits", lambda rows, targeted: seen.append(len(rows)) or honest(rows, targeted)
    )
    score, told = (chain_rule if cls is CLM else pseudo_log_likelihood), []
    score(language_model, [[5, 6, 7], [5, 6, 7], [8, 9, 10], [5, 6, 7]], progress=told.append)
    assert sum(seen) == (2 if cls is CLM else 6)
    assert sum(told) == 6


@pytest.mark.parametrize("cls", [CLM, MLM])
def test_nothing_to_score(cls):
    objective = build(cls)
    assert own_scores(objective, []) == []
    assert own_scores(objective, [[], [5], []])[::2] == [[], []]
    assert total([]) == 0 and perplexity(0.0, 0) is None


def test_a_method_by_name():
    objective = build(MLM)
    model = ObjectiveLanguageModel(objective)
    assert score_sentences(model, SENTENCES, "pll") == pseudo_log_likelihood(model, SENTENCES)
    by_words = pseudo_log_likelihood(model, SENTENCES, WORDS)
    assert score_sentences(model, SENTENCES, "pll_word_l2r", WORDS) == by_words
    assert score_sentences(model, SENTENCES, "pll", WORDS) != by_words
    with pytest.raises(ValueError, match="one of chain_rule, elbo, pll, pll_word_l2r"):
        score_sentences(model, SENTENCES, "best")
    with pytest.raises(ValueError, match="needs the number of the word"):
        score_sentences(model, SENTENCES, "pll_word_l2r")


def test_every_method_that_an_objective_names_exists():
    assert {method for cls in all_objectives() for method in build(cls).traits.scores} <= set(METHODS)


def test_sums_and_perplexities():
    assert total([-1.0, None, -2.0]) == -3
    assert perplexity(-3.0, 2) == pytest.approx(math.exp(1.5))
    assert perplexity(-3000.0, 2) == math.inf
    assert math.isnan(perplexity(math.nan, 2))


def test_without_a_beginning_of_sentence_token_the_first_token_is_unscored():
    objective = build(CLM).eval()
    language_model = ObjectiveLanguageModel(objective)
    language_model.bos = ()
    scores = chain_rule(language_model, [[5, 9, 12], [7], [5, 9]])
    assert [score[0] for score in scores] == [None] * 3
    expected = [log_softmax(objective, [5, 9, 12][:t], t - 1)[[5, 9, 12][t]].item() for t in (1, 2)]
    assert scores[0][1:] == pytest.approx(expected, abs=1e-5)
    assert scores[2][1:] == pytest.approx(expected[:1], abs=1e-5)
    assert chain_rule(language_model, [[7]]) == [[None]]


def test_methods_that_do_not_fit_the_model_are_refused():
    causal, masked = ObjectiveLanguageModel(build(CLM)), ObjectiveLanguageModel(build(MLM))
    with pytest.raises(ValueError, match="has no chain rule; score it by pll or pll_word_l2r"):
        chain_rule(masked, SENTENCES)
    with pytest.raises(ValueError, match="has no pseudo-log-likelihood"):
        pseudo_log_likelihood(causal, SENTENCES)
    masked.mask = None
    with pytest.raises(ValueError, match="no mask token"):
        pseudo_log_likelihood(masked, SENTENCES)
    causal.end_of_text = None
    with pytest.raises(ValueError, match="no token for the end"):
        chain_rule(causal, SENTENCES, end=True)


@pytest.mark.parametrize("cls", [CLM, MLM])
def test_the_mode_comes_back_even_after_an_error(cls):
    objective = build(cls).train()
    with pytest.raises(IndexError):
        own_scores(objective, [[5, VOCABULARY.size]])
    assert objective.training and objective.encoder.training


@pytest.mark.parametrize("context", ["past", "both"])
def test_each_token_is_scored_in_the_window_with_most_context(context):
    for max_tokens in (1, 2, 3, 4, 7, 10):
        for length in range(40):
            cut = windows(length, max_tokens, context)
            scored = [t for w in cut for t in range(w.first, w.last)]
            assert scored == list(range(length))
            for window in cut:
                assert 0 <= window.start <= window.first < window.last <= window.end <= length
                assert window.end - window.start == min(max_tokens, length)
                for token in range(window.first, window.last):
                    holding = [w for w in cut if w.start <= token < w.end]

                    def shown(w, token=token, length=length):
                        left, right = token - w.start, w.end - 1 - token
                        if context == "past":
                            return left
                        # Beyond an edge of the text there is no context to miss.
                        return min(left if w.start else length, right if w.end < length else length)

                    assert shown(window) >= max(map(shown, holding)) - (context == "both")  # halves are rounded


@pytest.mark.parametrize("cls", [CLM, MLM])
def test_too_long_is_refused_or_scored_in_windows(cls):
    objective = build(cls).eval()
    language_model = ObjectiveLanguageModel(objective)
    score, context = (chain_rule, "past") if cls is CLM else (pseudo_log_likelihood, "both")
    sentence = torch.randint(5, 40, (150,), generator=torch.Generator().manual_seed(1)).tolist()
    with pytest.raises(ValueError, match="sentence 2 has 150 tokens, but the model has room for 62"):
        score(language_model, [[5], sentence])
    (windowed,) = score(language_model, [sentence], window=True)
    expected = []
    for window in windows(150, 62, context):
        (part,) = score(language_model, [sentence[window.start : window.end]])
        expected += part[window.first - window.start : window.last - window.start]
    assert windowed == pytest.approx(expected, abs=1e-5)
    assert len(windowed) == 150


def test_the_end_of_the_longest_sentence_is_scored():
    (scores,) = chain_rule(ObjectiveLanguageModel(build(CLM)), [[5] * 62], end=True)
    assert len(scores) == 63


def test_word_l2r_in_windows_keeps_words_apart():
    language_model = ObjectiveLanguageModel(build(MLM).eval())
    sentence = torch.randint(5, 40, (100,), generator=torch.Generator().manual_seed(1)).tolist()
    alone = pseudo_log_likelihood(language_model, [sentence], window=True)
    apart = pseudo_log_likelihood(language_model, [sentence], words=[range(100)], window=True)
    assert apart == alone
    assert pseudo_log_likelihood(language_model, [sentence], words=[[t // 3 for t in range(100)]], window=True) != alone


@pytest.mark.parametrize("cls", [CLM, MLM])
def test_sentences_with_their_special_tokens_are_refused(cls):
    with pytest.raises(ValueError, match="sentence 2 begins with a special token"):
        own_scores(build(cls), [[5, 6], [VOCABULARY.cls, 5, 6, VOCABULARY.sep]])
