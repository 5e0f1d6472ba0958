"""Words and spans: each token has the probability of the rate wherever it stands, though not by itself."""

import math

import numpy as np
import pytest
import torch
from scipy import stats

from objectives import MLM, Batch, Bernoulli, Corruption, Drawn, Spans, Words
from objectives.construction.class_paths import import_object
from objectives.corruption.spans import _walk
from tests.support.objectives import EXAMPLES, FALSE_ALARM, VOCABULARY, build, make_batch

Spaced = import_object(f"{EXAMPLES}.own_selection.Spaced")  # tests/objectives/conftest.py allows it
RATES = [0.01, 0.15, 0.5, 0.99, 1.0]
CLS, SEP, PAD, UNK = VOCABULARY.cls, VOCABULARY.sep, VOCABULARY.pad, VOCABULARY.unknown


def repeated(row, blocks, starts=None):
    """A batch of blocks that all have the same tokens."""
    index = torch.arange(blocks)
    starts_BT = None if starts is None else torch.tensor(starts, dtype=torch.bool).expand(blocks, -1)
    return Batch(torch.tensor(row).expand(blocks, -1), torch.zeros_like(index), index, starts_BT)


def select(selection, batch, rate, seed=1):
    rate_B1 = torch.full((len(batch.tokens_BT), 1), rate, dtype=torch.float64)
    return selection(batch.tokens_BT, rate_B1, batch.key(seed), VOCABULARY)


def within_bernstein(count, expected, variance, largest):
    """Whether a sum of independent counts from 0 to `largest`, with this mean and variance, is as near to its mean as
    all but FALSE_ALARM of them are, by Bernstein's inequality: no normal approximation, so few counts will do."""
    log = math.log(2 / FALSE_ALARM)
    return abs(count - expected) <= log * largest / 3 + math.sqrt((log * largest / 3) ** 2 + 2 * log * variance) + 1e-9


def within_binomial(count, trials, rate):
    low, high = stats.binom.ppf([FALSE_ALARM / 2, 1 - FALSE_ALARM / 2], trials, rate)
    return bool(low <= count <= high)


def span_chain(spans, rate):
    """Transitions and stationary distribution of the number of tokens left, from 0 to the longest, of the process that
    `Spans` describes: found as a left eigenvector, not by its formula."""
    lengths = np.array([spans.p * (1 - spans.p) ** place for place in range(spans.longest)])
    lengths /= lengths.sum()
    mean = float(np.arange(1, spans.longest + 1) @ lengths)
    start = rate / (rate + mean * (1 - rate))
    transitions = np.eye(spans.longest + 1, k=-1)
    transitions[:2] = np.append(1 - start, start * lengths)
    equations = np.vstack([transitions.T - np.eye(len(transitions)), np.ones(len(transitions))])
    stationary = np.linalg.lstsq(equations, np.append(np.zeros(len(transitions)), 1), rcond=None)[0]
    return transitions, stationary


def joint(spans, rate, distance):
    """Probability that two tokens of a document, so far apart, are both selected."""
    transitions, stationary = span_chain(spans, rate)
    reached = (stationary * (np.arange(len(stationary)) > 0)) @ np.linalg.matrix_power(transitions, distance)
    return float(reached[1:].sum())


@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize("length", [4, 8, 64])
def test_words_keep_the_rate(rate, length):
    """A word of l tokens adds l or none: variance l² r (1 − r), independent of the others."""
    batch = make_batch(blocks=6000 // length, length=length)
    selected = select(Words(), batch, rate)
    regular = ~VOCABULARY.is_special(batch.tokens_BT)
    word = batch.word_starts_BT.cumsum(1) + torch.arange(len(regular))[:, None] * (length + 1)
    sizes = torch.bincount(word[regular]).double()
    variance = float((sizes**2).sum()) * rate * (1 - rate)
    assert within_bernstein(int(selected.sum()), rate * int(regular.sum()), variance, float(sizes.max()))
    assert not selected[~regular].any()


@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize("length", [4, 8, 64])
@pytest.mark.parametrize("spans", [Spans(), Spans(0.5, 3), Spans(0.01, 40)])
def test_spans_keep_the_rate(spans, rate, length):
    """The count of a block has the variance of the chain's covariances, and blocks are independent."""
    blocks, plain = 6000 // length, 6
    selected = select(spans, repeated([plain] * length, blocks), rate)
    both = [joint(spans, rate, distance) for distance in range(length)]
    variance = sum((length - abs(k)) * (both[abs(k)] - rate**2) for k in range(1 - length, length))
    assert within_bernstein(int(selected.sum()), rate * blocks * length, blocks * variance, length)


@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize(
    "row",
    [
        [6, 7, 8, SEP, CLS, 9, 10, UNK, 11, 12, SEP, CLS, 13, 14],
        [CLS, 6, SEP, CLS, 7, 8, SEP, PAD, PAD],
    ],
)
@pytest.mark.parametrize("selection", [Spans(), Spans(1.0), Spans(0.3, 4), Words(), Bernoulli(), Spaced()])
def test_every_regular_token_has_the_rate_at_the_edges_of_documents_too(selection, row, rate):
    blocks = 4000
    special = VOCABULARY.is_special(torch.tensor(row)).tolist()
    starts = [place % 3 == 0 or special[place] or special[place - 1] for place in range(len(row))]
    counts = select(selection, repeated(row, blocks, starts), rate).sum(0).tolist()
    for count, other in zip(counts, special, strict=True):
        assert count == 0 if other else within_binomial(count, blocks, rate)


def test_a_word_is_selected_whole_and_by_itself():
    starts = [1, 0, 0, 1, 0, 1, 1, 1, 0]
    row, blocks, rate = [6, 7, 8, 9, 10, SEP, CLS, 11, 12], 4000, 0.3
    selected = select(Words(), repeated(row, blocks, starts), rate)
    assert torch.equal(selected[:, 0], selected[:, 1]) and torch.equal(selected[:, 0], selected[:, 2])
    assert torch.equal(selected[:, 3], selected[:, 4]) and torch.equal(selected[:, 7], selected[:, 8])
    for one, other in ((0, 3), (3, 7), (0, 7)):
        assert within_binomial(int((selected[:, one] & selected[:, other]).sum()), blocks, rate**2)
    # In no two blocks the same draws, and others under another seed.
    assert selected[:, 0].sum() not in (0, blocks)
    assert not torch.equal(selected, select(Words(), repeated(row, blocks, starts), rate, seed=2))


def test_the_rest_of_a_word_cut_off_before_its_block_is_one_by_itself():
    """Even where the data does not say that the first token of a block begins one."""
    selected = select(Words(), repeated([6, 7, 8, 9], 4000, [0, 0, 1, 0]), 0.3)
    assert torch.equal(selected[:, 0], selected[:, 1])
    assert within_binomial(int((selected[:, 0] & selected[:, 2]).sum()), 4000, 0.3**2)


def test_the_mix_is_drawn_for_each_token_of_a_word():
    batch = repeated([6, 7], 4000, [1, 0])
    inputs, selected = Corruption(1.0, 0.5, 0, 0.5, Words())(batch.tokens_BT, batch.key(1), VOCABULARY)
    masked = inputs == VOCABULARY.mask
    assert selected.all() and within_binomial(int(masked.all(1).sum()), 4000, 0.25)


def test_data_that_knows_no_words_is_named():
    batch = make_batch()._replace(word_starts_BT=None)
    with pytest.raises(ValueError, match=r"the data knows no words, .* take another selection, such as Spans"):
        build(MLM, corruption=Corruption(selection=Words())).views(batch.tokens_BT, batch.key(1))


@pytest.mark.parametrize("rate", [0.15, 0.5, 0.9])
@pytest.mark.parametrize("distance", [1, 2, 3, 5, 10, 15])
def test_two_tokens_are_in_spans_as_often_as_in_the_process(rate, distance):
    spans, blocks = Spans(), 20_000
    selected = select(spans, repeated([6] * 20, blocks), rate)
    for first in (0, 4):  # the document's start, and its inside
        both = int((selected[:, first] & selected[:, first + distance]).sum())
        assert within_binomial(both, blocks, joint(spans, rate, distance))


@pytest.mark.parametrize("rate", [0.05, 0.4])
@pytest.mark.parametrize("spans", [Spans(), Spans(0.5, 3)])
def test_runs_of_selected_tokens_are_spans_that_touch(spans, rate):
    """A run has one span, and with the probability that one begins at once another; against the convolution."""
    selected = select(spans, repeated([6] * 160, 4000), rate).numpy()
    observed = []
    for row in selected:
        begins = np.flatnonzero(~row[:59] & row[1:60])
        if len(begins):  # the first run that begins in the block; it ends in it, too
            rest = row[begins[0] + 1 :]
            assert not rest.all()
            observed.append(int(np.argmin(rest)))
    transitions, _ = span_chain(spans, rate)
    start, lengths = transitions[0, 1:].sum(), transitions[0, 1:] / transitions[0, 1:].sum()
    longest = 100
    runs, spans_so_far = np.zeros(longest + 1), np.append(1.0, np.zeros(longest))
    for _ in range(longest):
        spans_so_far = np.convolve(spans_so_far, np.append(0, lengths))[: longest + 1]
        runs += (1 - start) * spans_so_far
        spans_so_far = start * spans_so_far
    counts = np.bincount(observed, minlength=longest + 1)[: longest + 1]
    expected = runs * len(observed)
    kept = expected >= 10
    cells = [np.append(values[kept], values[~kept].sum()) for values in (counts, expected)]
    cells[1][-1] += len(observed) - cells[1].sum()
    assert len(observed) > 500 and kept.sum() >= 3
    assert stats.chisquare(*cells).pvalue > FALSE_ALARM


def test_spans_of_one_token_are_independent():
    selected = select(Spans(longest=1), repeated([6] * 12, 4000), 0.4)
    for distance in (1, 2, 5):
        assert within_binomial(int((selected[:, 3] & selected[:, 3 + distance]).sum()), 4000, 0.16)


def test_no_span_goes_on_over_the_edge_of_a_document():
    """What is selected in one document says nothing of the other one; in one document it does."""
    row, blocks, rate = [6, 7, SEP, CLS, 8, 9, SEP, PAD, 10, UNK, 11], 20_000, 0.5
    selected = select(Spans(0.1), repeated(row, blocks), rate)
    for one, other in ((1, 4), (5, 8)):
        assert within_binomial(int((selected[:, one] & selected[:, other]).sum()), blocks, rate**2)
    # Over [UNK] they go on.
    assert within_binomial(int((selected[:, 8] & selected[:, 10]).sum()), blocks, joint(Spans(0.1), rate, 2))
    assert joint(Spans(0.1), rate, 2) > 0.34


def test_a_walk_counts_down_and_begins_anew():
    left = torch.tensor([[0, 3, 9, 9, 2, 9, 0, 4, 9, 1, 5]])
    fresh = torch.tensor([[True, *[False] * 7, True, True, False]])
    assert _walk(left, fresh).tolist() == [[0, 3, 2, 1, 2, 1, 0, 4, 9, 1, 5]]


def test_each_block_has_its_own_rate():
    batch = make_batch(blocks=2000, length=20)
    corruption = Corruption(Drawn(0.0, 1.0), 1, 0, 0, Spans())
    rates = corruption.rates.of_blocks(batch.key(1))[:, 0]
    selected = corruption(batch.tokens_BT, batch.key(1), VOCABULARY).selected_BT.double().mean(1)
    regular = (~VOCABULARY.is_special(batch.tokens_BT)).double().mean(1)
    low, high = rates < 0.5, rates >= 0.5
    for some in (low, high):
        error = (selected - rates * regular)[some]
        assert abs(float(error.mean())) < 6 * float(error.std()) / math.sqrt(int(some.sum()))


@pytest.mark.parametrize("wrong", [{"p": 0.0}, {"p": 1.1}, {"p": -0.2}, {"p": math.nan}, {"longest": 0}])
def test_impossible_spans_are_refused(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        Spans(**wrong)


def test_neither_has_a_bayes_loss_and_the_records_tell_them_apart():
    selections = [Bernoulli(), Words(), Spans(), Spans(0.5), Spans(longest=3)]
    assert [Corruption(selection=one).noise(1.0) is None for one in selections] == [False, True, True, True, True]
    assert len({build(MLM, corruption=Corruption(selection=one)).traits.question for one in selections}) == 5
