"""The hidden Markov language and its Bayes losses, against enumeration of all that can happen in tiny languages.

B blocks, L symbols of a block, T = L + 2 positions.
"""

import math
from collections import defaultdict

import numpy as np
import pytest
import torch
from scipy import stats

from experiments.languages.hidden_markov import FIRST_SYMBOL, HiddenMarkov
from experiments.languages.hidden_markov_bayes import (
    bayes_accuracy,
    bayes_loss,
    clm_bayes_loss,
    mlm_bayes_loss,
    state_posteriors,
)
from objectives import (
    IGNORE,
    Corruption,
    Drawn,
    ExactCount,
    Hybrid,
    MaskedNextToken,
    Noise,
    PrefixLM,
    Scheduled,
    evaluation_key,
)
from objectives.clm import next_token
from objectives.mlm import cloze
from tests.support.known_rules import enumerate_blocks, enumerate_targets, text_probabilities
from tests.support.objectives import build

FALSE_ALARM = 1e-6
TINY = HiddenMarkov(2, 3, transition_concentration=0.7, emission_concentration=0.7, length=4, seed=1)
THREE = HiddenMarkov(3, 2, transition_concentration=0.5, emission_concentration=0.6, length=3, seed=2)
BERT = (0.8, 0.1, 0.1)
MASK = 4
CORRUPTIONS = [
    Corruption(rate, *mix)
    for rate in (0.15, 0.5, 1.0)
    for mix in (BERT, (1, 0, 0), (0, 1, 0), (0, 0, 1), (0.5, 0.5, 0), (0, 0.3, 0.7), (0.6, 0, 0.4))
]
PREDICTED = [None, 0.1, 0.7, 1.0]
"""Share of the tokens that is predicted: the selected ones, some of them, others besides, all."""


def noise_of(corruption, prediction_rate=None):
    tokens = TINY.tokens_BT(torch.zeros(1, TINY.length, dtype=torch.int64))
    view = cloze(tokens, evaluation_key(torch.tensor([0])), corruption, TINY.vocabulary(), prediction_rate)
    return view.channel


def test_rules_are_distributions_and_the_start_is_stationary():
    language = HiddenMarkov()
    assert language.transition_SS.dtype == language.emission_SV.dtype == torch.float64
    for table, shape in ((language.transition_SS, (16, 16)), (language.emission_SV, (16, 64))):
        assert table.shape == shape
        torch.testing.assert_close(table.sum(1), torch.ones(16, dtype=torch.float64), rtol=0, atol=1e-12)
    after = language.initial_S @ language.transition_SS
    torch.testing.assert_close(after, language.initial_S, rtol=0, atol=1e-12)


def test_blocks_are_a_function_of_split_and_index_alone():
    language = HiddenMarkov()
    index = torch.tensor([7, 2**40, 0, 7])
    states, symbols = language.sample("train", index)
    assert states.shape == symbols.shape == (4, 62)
    assert torch.equal(symbols[0], symbols[3])
    for i in range(4):
        alone = language.sample("train", index[i : i + 1])
        assert torch.equal(alone[0][0], states[i])
        assert torch.equal(alone[1][0], symbols[i])
    many = torch.arange(1000)
    blocks = torch.cat([language.sample(split, many)[1] for split in ("train", "validation", "probe")])
    assert len(blocks.unique(dim=0)) == 3000
    assert not torch.equal(HiddenMarkov(seed=99).sample("train", index)[1], symbols)


def test_tokens_and_vocabulary():
    language = HiddenMarkov()
    vocabulary = language.vocabulary()
    assert (vocabulary.size, vocabulary.regular, vocabulary.mask) == (69, 64, MASK)
    _, symbols = language.sample("train", torch.arange(3))
    tokens = language.tokens_BT(symbols)
    assert tokens.shape == (3, language.block_length)
    assert (tokens[:, 0] == vocabulary.cls).all()
    assert (tokens[:, -1] == vocabulary.sep).all()
    assert torch.equal(tokens[:, 1:-1], vocabulary.nth_regular(symbols))


def test_sampled_frequencies_are_those_of_the_rules():
    language = HiddenMarkov(4, 6, 1.0, 1.0, length=20, seed=3)
    states, symbols = language.sample("validation", torch.arange(4000))
    for t in (0, 10, 19):  # positions are dependent, blocks are not
        assert p_value(torch.bincount(states[:, t], minlength=4), language.initial_S) > FALSE_ALARM
        for s in range(4):
            here = states[:, t] == s
            emitted = torch.bincount(symbols[here, t], minlength=6)
            assert p_value(emitted, language.emission_SV[s]) > FALSE_ALARM
            if t < 19:
                followed = torch.bincount(states[here, t + 1], minlength=4)
                assert p_value(followed, language.transition_SS[s]) > FALSE_ALARM


def p_value(counts, probability):
    return stats.chisquare(counts.numpy(), probability.numpy() * int(counts.sum())).pvalue


@pytest.mark.parametrize("language", [TINY, THREE])
def test_clm_bayes_loss_is_that_of_enumeration(language):
    text = text_probabilities(language)
    prefix = defaultdict(float)
    for symbols, p in text.items():
        for t in range(language.length + 1):
            prefix[symbols[:t]] += p
    blocks = torch.tensor(list(text))
    tokens = language.tokens_BT(blocks)
    nats = clm_bayes_loss(language, tokens)
    expected = [
        [-math.log(prefix[x[: t + 1]] / prefix[x[:t]]) for t in range(language.length)] + [0.0, 0.0] for x in text
    ]
    torch.testing.assert_close(nats, torch.tensor(expected, dtype=torch.float64), rtol=0, atol=1e-10)
    whole = torch.tensor([-math.log(p) for p in text.values()], dtype=torch.float64)
    torch.testing.assert_close(nats.sum(1), whole, rtol=0, atol=1e-10)
    assert not nats[next_token(tokens, language.vocabulary()) == IGNORE].any()


def test_clm_bayes_loss_sums_to_the_likelihood_of_a_long_block():
    language = HiddenMarkov()
    _, symbols = language.sample("validation", torch.arange(5))
    nats = clm_bayes_loss(language, language.tokens_BT(symbols)).sum(1)
    for row, total in zip(symbols.tolist(), nats.tolist(), strict=True):
        # The product of matrices, in the space of logarithms, from the right.
        with np.errstate(divide="ignore"):
            initial, step, emit = (
                np.log(table.numpy()) for table in (language.initial_S, language.transition_SS, language.emission_SV)
            )
        message = np.zeros(language.states)
        for symbol in reversed(row[1:]):
            message = np.logaddexp.reduce(step + emit[:, symbol] + message, axis=1)
        assert total == pytest.approx(-np.logaddexp.reduce(initial + emit[:, row[0]] + message), abs=1e-9)


@pytest.mark.parametrize("language", [TINY, THREE])
def test_clm_bayes_loss_averages_to_the_entropy_of_a_block(language):
    entropy = -sum(p * math.log(p) for p in text_probabilities(language).values() if p)
    _, symbols = language.sample("validation", torch.arange(20_000))
    nats = clm_bayes_loss(language, language.tokens_BT(symbols)).sum(1)
    assert abs(float(nats.mean()) - entropy) < 4 * float(nats.std()) / math.sqrt(len(nats))


@pytest.mark.parametrize("prediction_rate", PREDICTED)
@pytest.mark.parametrize("corruption", CORRUPTIONS, ids=str)
@pytest.mark.parametrize("language", [TINY, THREE], ids=["2x3x4", "3x2x3"])
def test_mlm_bayes_loss_is_that_of_enumeration(language, corruption, prediction_rate):
    noise = noise_of(corruption, prediction_rate)
    mass = enumerate_targets(language, noise)
    given = defaultdict(float)
    for (shown, i, _), p in mass.items():
        given[shown, i] += p
    inputs = [[MASK if s is None else FIRST_SYMBOL + s for s in shown] for shown, _, _ in mass]
    targets = [[FIRST_SYMBOL + true if t == i else IGNORE for t in range(language.length)] for _, i, true in mass]
    nats = mlm_bayes_loss(language, framed(inputs, 2, 3), framed(targets, IGNORE, IGNORE), noise)
    expected = [[0.0] * (language.length + 2) for _ in mass]
    for row, ((shown, i, _), p) in zip(expected, mass.items(), strict=True):
        row[1 + i] = -math.log(p / given[shown, i])
    torch.testing.assert_close(nats, torch.tensor(expected, dtype=torch.float64), rtol=0, atol=1e-10)


def framed(rows, first, last):
    return torch.tensor([[first, *row, last] for row in rows])


@pytest.mark.parametrize("prediction_rate", PREDICTED)
@pytest.mark.parametrize("corruption", CORRUPTIONS, ids=str)
def test_mlm_bayes_loss_is_the_least_mean_loss_of_sampled_targets(corruption, prediction_rate):
    """Over the pipeline's own masks its mean is the enumerated optimum, within four standard errors."""
    mass = enumerate_targets(TINY, noise_of(corruption, prediction_rate))
    given = defaultdict(float)
    for (shown, i, _), p in mass.items():
        given[shown, i] += p
    least = -sum(p * math.log(p / given[shown, i]) for (shown, i, _), p in mass.items())
    index = torch.arange(10_000)
    tokens = TINY.tokens_BT(TINY.sample("validation", index)[1])
    view = cloze(tokens, evaluation_key(index), corruption, TINY.vocabulary(), prediction_rate)
    nats = bayes_loss(TINY, view, tokens)
    assert not nats[view.targets_BT == IGNORE].any()
    block = nats.sum(1)
    assert abs(float(block.mean()) - least) <= 4 * float(block.std()) / math.sqrt(len(block)) + 1e-12


@pytest.mark.parametrize("rate", [Drawn(0.0, 1.0), Drawn(0.2, 0.6)])
def test_where_every_selected_token_is_masked_the_rate_of_a_block_does_not_matter(rate):
    """The optimum over blocks with rates of their own, from an integral over the rate of what enumeration gives."""
    places = [(place + 0.5) / 200 for place in range(200)]
    mass = defaultdict(float)
    for place in places:
        at = rate.low + (rate.high - rate.low) * place
        for target, p in enumerate_targets(TINY, Noise(at, 1, 0, 0)).items():
            mass[target] += p / len(places)
    given = defaultdict(float)
    for (shown, i, _), p in mass.items():
        given[shown, i] += p
    inputs = [[MASK if s is None else FIRST_SYMBOL + s for s in shown] for shown, _, _ in mass]
    targets = [[FIRST_SYMBOL + true if t == i else IGNORE for t in range(TINY.length)] for _, i, true in mass]
    noise = noise_of(Corruption(rate, 1, 0, 0))
    nats = mlm_bayes_loss(TINY, framed(inputs, 2, 3), framed(targets, IGNORE, IGNORE), noise).sum(1)
    expected = [-math.log(p / given[shown, i]) for (shown, i, _), p in mass.items()]
    torch.testing.assert_close(nats, torch.tensor(expected, dtype=torch.float64), rtol=0, atol=1e-10)


SHIFTED = {
    "prefix": (PrefixLM, {}),
    "short prefix": (PrefixLM, {"longest": 0.4}),
    "masked next token": (MaskedNextToken, {"corruption": Corruption(0.4, *BERT)}),
    "all masked": (MaskedNextToken, {"corruption": Corruption(1.0, 1, 0, 0)}),
    "hybrid": (Hybrid, {"corruption": Corruption(0.4, *BERT)}),
    "hybrid that masks all or nothing": (Hybrid, {"corruption": Corruption(1.0, 1, 0, 0), "causal": 0.3}),
    "hybrid that ends masked": (Hybrid, {"corruption": Corruption(0.4, *BERT), "causal": Scheduled(1.0, 0.0)}),
    "hybrid that ends causal": (Hybrid, {"corruption": Corruption(0.4, *BERT), "causal": Scheduled(0.0, 1.0)}),
}
"""Objectives whose positions predict the next token, and their settings."""


def reached(view):
    """What each position has read, through as many layers as there may be; (B, T, T)."""
    blocks, length = view.inputs_BT.shape
    masks = isinstance(view.attention, torch.Tensor)
    seen = view.attention[:, 0] if masks else torch.ones(blocks, length, length, dtype=torch.bool)
    for _ in range(length):
        seen = (seen.double() @ seen.double()) > 0
    return seen


@pytest.mark.parametrize("name", SHIFTED)
def test_the_bayes_loss_of_next_tokens_that_are_shown_or_masked_is_that_of_enumeration(name):
    """p(next symbol | what its position has read): of clean texts by summing those that agree, of corrupted ones by
    `enumerate_targets`."""
    cls, settings = SHIFTED[name]
    objective = build(cls, vocabulary=TINY.vocabulary(), **settings)
    index = torch.arange(200)
    tokens = TINY.tokens_BT(TINY.sample("validation", index)[1])
    (view,) = objective.views(tokens, evaluation_key(index))
    noise = settings["corruption"].noise(1.0) if "corruption" in settings else None
    mass = enumerate_targets(TINY, noise) if noise else {}
    expected = torch.zeros(tokens.shape, dtype=torch.float64)
    kinds, seen_BTT = set(), reached(view)
    for row, t in (view.targets_BT != IGNORE).nonzero().tolist():
        seen = seen_BTT[row, t]
        clean = torch.equal(view.inputs_BT[row], tokens[row]) and not seen[-1]
        kinds.add(clean)
        if clean:
            expected[row, t] = clean_nats(tokens[row], t, seen)
        else:
            expected[row, t] = masked_nats(view.inputs_BT[row], tokens[row], t, mass)
    nats = bayes_loss(TINY, view, tokens)
    torch.testing.assert_close(nats, expected, rtol=0, atol=1e-10)
    assert kinds == {True, False} if name in ("hybrid", "hybrid that masks all or nothing") else len(kinds) == 1


def clean_nats(tokens, t, seen):
    """−log p(token t + 1 | the tokens at the positions that are seen), all texts being of one length."""
    if t + 2 == len(tokens):
        return 0.0
    symbols = (tokens[1:-1] - FIRST_SYMBOL).tolist()
    known = [place - 1 for place in seen.nonzero().flatten().tolist() if place not in (0, len(tokens) - 1)]
    assert t not in known
    agree = {x: p for x, p in text_probabilities(TINY).items() if all(x[i] == symbols[i] for i in known)}
    return -math.log(sum(p for x, p in agree.items() if x[t] == symbols[t]) / sum(agree.values()))


def masked_nats(inputs, tokens, t, mass):
    """−log p(token t + 1 | the corrupted block, and that it is a target)."""
    shown = tuple(None if token == MASK else token - FIRST_SYMBOL for token in inputs[1:-1].tolist())
    total = sum(mass.get((shown, t, symbol), 0.0) for symbol in range(TINY.symbols))
    return -math.log(mass[shown, t, int(tokens[t + 1]) - FIRST_SYMBOL] / total)


def test_a_hybrid_whose_masks_have_no_bayes_loss_has_none():
    objective = build(Hybrid, vocabulary=TINY.vocabulary(), corruption=Corruption(selection=ExactCount()))
    tokens = TINY.tokens_BT(TINY.sample("validation", torch.arange(5))[1])
    (view,) = objective.views(tokens, evaluation_key(torch.arange(5)))
    assert bayes_loss(TINY, view, tokens) is None


def test_a_rate_that_nobody_knows_and_positions_that_depend_on_each_other_have_no_bayes_loss():
    for corruption in (Corruption(Drawn(0.1, 0.9)), Corruption(selection=ExactCount())):
        assert noise_of(corruption) is None


@pytest.mark.parametrize("language", [TINY, THREE])
def test_state_posteriors_are_those_of_enumeration(language):
    joint = enumerate_blocks(language)
    known = {
        "token": lambda symbols, t: symbols[t],
        "past": lambda symbols, t: symbols[: t + 1],
        "both": lambda symbols, t: symbols,
    }
    texts = list(text_probabilities(language))
    for view, of in known.items():
        mass = defaultdict(float)
        for (states, symbols), p in joint.items():
            for t in range(language.length):
                mass[t, of(symbols, t), states[t]] += p
        expected = torch.tensor(
            [[[mass[t, of(x, t), s] for s in range(language.states)] for t in range(language.length)] for x in texts],
            dtype=torch.float64,
        )
        expected /= expected.sum(-1, keepdim=True)
        found = state_posteriors(language, torch.tensor(texts), view)
        torch.testing.assert_close(found, expected, rtol=0, atol=1e-10)


def test_bayes_accuracies_rise_with_what_is_known_and_are_reached():
    language = HiddenMarkov()
    states, symbols = language.sample("probe", torch.arange(1000))
    posteriors = [state_posteriors(language, symbols, view) for view in ("token", "past", "both")]
    token, past, both = (bayes_accuracy(posterior).mean().item() for posterior in posteriors)
    assert token < past - 0.05 < both - 0.1
    for posterior, expected in zip(posteriors, (token, past, both), strict=True):
        reached = float((posterior.argmax(-1) == states).double().mean())
        assert reached == pytest.approx(expected, abs=0.01)


def test_a_full_size_bayes_loss_stays_finite():
    language = HiddenMarkov(transition_concentration=0.02, emission_concentration=0.02, length=500)
    index = torch.arange(4)
    tokens = language.tokens_BT(language.sample("train", index)[1])
    assert clm_bayes_loss(language, tokens).isfinite().all()
    for corruption in CORRUPTIONS:
        view = cloze(tokens, evaluation_key(index), corruption, language.vocabulary())
        nats = mlm_bayes_loss(language, view.inputs_BT, view.targets_BT, view.channel)
        assert nats.isfinite().all()
        assert (nats > -1e-12).all()


def test_fingerprint_follows_the_language():
    languages = [
        HiddenMarkov(),
        HiddenMarkov(seed=99),
        HiddenMarkov(length=10),
        HiddenMarkov(states=15),
        HiddenMarkov(emission_concentration=0.2),
    ]
    assert len({language.fingerprint() for language in languages}) == len(languages)
    assert HiddenMarkov().fingerprint() == HiddenMarkov().fingerprint()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"states": 1}, "states=1 must be at least 2"),
        ({"length": 0}, "length=0"),
        ({"seed": -1}, "seed=-1"),
        ({"emission_concentration": 0.0}, "must be positive"),
        ({"transition_concentration": 1e-4, "seed": 5}, "Raise transition_concentration"),
    ],
)
def test_bad_languages_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        HiddenMarkov(**arguments)


def test_what_has_no_bayes_loss_is_refused():
    tokens = TINY.tokens_BT(torch.tensor([[0, 1, 2, 1]]))
    targets = tokens.masked_fill(tokens != FIRST_SYMBOL + 2, IGNORE)
    masked = tokens.masked_fill(targets != IGNORE, MASK)
    with pytest.raises(ValueError, match="cannot arise"):
        mlm_bayes_loss(TINY, masked, targets, Noise(0.15, 0, 0.5, 0.5))
    with pytest.raises(ValueError, match="never targets"):
        mlm_bayes_loss(TINY, masked, tokens, Noise(0.15, 0.8, 0.1, 0.1))
    with pytest.raises(ValueError, match="the Bayes loss is that of blocks"):
        clm_bayes_loss(TINY, masked)
    with pytest.raises(ValueError, match="another length"):
        clm_bayes_loss(TINY, tokens[:, 1:])
    with pytest.raises(ValueError, match="view is"):
        state_posteriors(TINY, tokens[:, 1:-1] - FIRST_SYMBOL, "future")
    with pytest.raises(ValueError, match="unknown split"):
        TINY.sample("test", torch.arange(2))
