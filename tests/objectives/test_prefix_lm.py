"""Prefixes of documents: who sees whom by brute force, and how long they are."""

import math

import pytest
import torch
from scipy import stats

from objectives import IGNORE, Key, PrefixLM
from tests.support.objectives import FALSE_ALARM, VOCABULARY, build, make_batch

CLS, SEP, PAD = VOCABULARY.cls, VOCABULARY.sep, VOCABULARY.pad
ROWS = [
    [7, 8, 9, SEP, CLS, 10, 11, 12, 13, SEP, CLS, 14],
    [CLS, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, SEP],
    [CLS, SEP, CLS, 5, SEP, CLS, 6, 7, SEP, PAD, PAD, PAD],
]
"""Cut at both edges; one document; several, an empty one and padding."""


def view_of(tokens, seed=1, longest=1.0, **shared):
    blocks = len(tokens)
    key = Key(seed, torch.zeros(blocks, dtype=torch.int64), torch.arange(blocks))
    (view,) = build(PrefixLM, longest=longest, **shared).views(torch.as_tensor(tokens), key)
    return view


def documents(row):
    """The parts of documents in a block, as ranges of positions; padding is in none."""
    starts = [t for t, token in enumerate(row) if t == 0 or token in (CLS, PAD)]
    ends = [*starts[1:], len(row)]
    return [range(start, end) for start, end in zip(starts, ends, strict=True) if row[start] != PAD]


def prefix_lengths(row, targets):
    """How many tokens at the beginning of each document no position predicts: 1 where the prefix has one or none."""
    return [1 + sum(targets[t - 1] == IGNORE for t in document[1:]) for document in documents(row)]


def all_prefix_lengths(tokens, view):
    """Those of each block, (B, documents)."""
    rows = zip(tokens.tolist(), view.targets_BT.tolist(), strict=True)
    return torch.tensor([prefix_lengths(row, targets) for row, targets in rows])


@pytest.mark.parametrize("documents_are", ["separate", "joined"])
@pytest.mark.parametrize("longest", [0.3, 0.5, 1.0])
def test_a_position_sees_what_is_left_of_it_and_the_prefix_that_it_is_in(longest, documents_are):
    for seed in range(30):
        view = view_of(ROWS, seed, longest, documents=documents_are)
        for row, targets, attention in zip(ROWS, view.targets_BT.tolist(), view.attention[:, 0].tolist(), strict=True):
            found = dict(zip(documents(row), prefix_lengths(row, targets), strict=True))
            prefixes = [document[:length] for document, length in found.items()]
            for document, length in found.items():
                assert 1 <= length <= max(1, math.floor(longest * len(document)))
                # What is predicted is all that comes after the prefix, and no document predicts another.
                for t in document[:-1]:
                    assert targets[t] == (row[t + 1] if t + 1 >= document.start + length else IGNORE)
                assert targets[document[-1]] == IGNORE
            for t in range(len(row)):
                for s in range(len(row)):
                    assert attention[t][s] == (s <= t or any(t in prefix and s in prefix for prefix in prefixes))


@pytest.mark.parametrize("longest", [0.25, 0.5, 1.0])
def test_prefix_lengths_are_uniform(longest):
    size, blocks = 20, 4000
    tokens = torch.full((blocks, size), 9)
    tokens[:, 0], tokens[:, -1] = CLS, SEP
    view = view_of(tokens, longest=longest)
    most = min(math.floor(longest * size), size - 1)
    lengths = all_prefix_lengths(tokens, view)[:, 0]
    counts = torch.bincount(lengths, minlength=most + 1)[1:]
    alike = [2, *[1] * (most - 1)]  # as many ways to have each: none and one are seen as one
    expected = torch.tensor(alike, dtype=torch.float64) * blocks / (most + 1)
    assert stats.chisquare(counts.numpy(), expected.numpy()).pvalue > FALSE_ALARM


def test_documents_of_a_block_have_prefixes_of_their_own():
    tokens = torch.tensor([[CLS, *[9] * 14, SEP] * 2]).repeat(2000, 1)
    view = view_of(tokens)
    pairs = all_prefix_lengths(tokens, view)
    assert abs(torch.corrcoef(pairs.T.double())[0, 1]) < 5 / math.sqrt(len(pairs))


@pytest.mark.parametrize("longest", [0.1, 0.25, 0.5, 1.0])
def test_the_density_is_the_nominal_one_but_for_the_edges_of_documents(longest):
    batch = make_batch(blocks=500, length=90)
    (view,) = build(PrefixLM, longest=longest).views(batch.tokens_BT, Key(1, batch.epoch_B, batch.index_B))
    realised = (view.targets_BT != IGNORE).double().mean(1)
    # Of n tokens n - 1 can be targets, and of a prefix one could not be one anyway: within two tokens a document.
    error = 5 * realised.std().item() / math.sqrt(500)
    nominal = build(PrefixLM, longest=longest).nominal_density
    assert nominal == 1 - longest / 2
    assert abs(realised.mean().item() - nominal) < error + 2 * 2 / 90


@pytest.mark.parametrize("longest", [0.0, -0.5, 1.5, math.nan])
def test_a_prefix_that_is_no_share_is_refused(longest):
    with pytest.raises(ValueError, match=r"in \(0, 1\].*CLM"):
        build(PrefixLM, longest=longest)
