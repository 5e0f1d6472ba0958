"""Generation: the cache, the draws, and what is never generated."""

import itertools

import pytest
import torch
from scipy import stats

from objectives import CLM, MLM, MaskedDiffusion, MaskedNextToken, Vocabulary
from objectives.inference.filling import best_fills, blank_distributions, unmask
from objectives.inference.generation import Sampling, gibbs, left_to_right, random_order, unmasking
from objectives.inference.language_model import LanguageModel, ObjectiveLanguageModel, inference_mode
from tests.support.objectives import FALSE_ALARM, HOLES, VOCABULARY, build, log_softmax

ALLOWED = torch.ones(4, dtype=torch.bool)


def procedures_of(objective):
    language_model = ObjectiveLanguageModel(objective)
    procedures = (left_to_right,) if language_model.causal else (random_order, unmasking, gibbs)
    return [(generate, language_model) for generate in procedures]


def test_the_cache_changes_nothing():
    language_model = ObjectiveLanguageModel(build(CLM))
    tokens = torch.randint(5, 40, (3, 20), generator=torch.Generator().manual_seed(0))
    cached, plain = language_model.continuation(), LanguageModel.continuation(language_model)
    with inference_mode(language_model.module):
        for part in tokens.split([6, *[1] * 14], dim=1):
            torch.testing.assert_close(cached(part), plain(part), atol=1e-5, rtol=1e-5)


def test_greedy_generation_by_brute_force():
    objective = build(CLM).eval()
    objective.encoder.decoder_bias.data[VOCABULARY.sep] = -50
    (text,) = left_to_right(ObjectiveLanguageModel(objective), [5, 9], range(1), 10, Sampling(temperature=0))
    row = [VOCABULARY.cls, 5, 9]
    for _ in range(10):
        nats = log_softmax(objective, row, len(row) - 1)
        row.append(max(set(range(VOCABULARY.size)) - set(VOCABULARY.specials), key=lambda token: nats[token].item()))
    assert text == row[3:]


@pytest.mark.parametrize("temperature", [0.5, 1.0, 2.0])
def test_tokens_are_drawn_as_often_as_their_probability_says(temperature):
    logits = torch.tensor([0.3, -1.0, 2.0, 0.5])
    draws = (torch.arange(1000, dtype=torch.float64) + 0.5) / 1000
    chosen, nats = Sampling(temperature).choose(logits.expand(1000, -1), ALLOWED, draws)
    shares = torch.bincount(chosen, minlength=4) / 1000
    torch.testing.assert_close(shares, (logits / temperature).softmax(-1), atol=2e-3, rtol=0)
    torch.testing.assert_close(nats, logits.double().log_softmax(-1)[chosen])


def test_top_p_keeps_the_most_probable_tokens_that_reach_it():
    logits = torch.tensor([0.1, 0.4, 0.3, 0.2]).log()
    draws = (torch.arange(1000, dtype=torch.float64) + 0.5) / 1000

    def shares(top_p, allowed=ALLOWED):
        chosen, _ = Sampling(top_p=top_p).choose(logits.expand(1000, -1), allowed, draws)
        return torch.bincount(chosen, minlength=4) / 1000

    for top_p, expected in ((0.65, [0, 4 / 7, 3 / 7, 0]), (0.71, [0, 4 / 9, 3 / 9, 2 / 9]), (0.01, [0, 1, 0, 0])):
        torch.testing.assert_close(shares(top_p), torch.tensor(expected).float(), atol=2e-3, rtol=0)
    torch.testing.assert_close(
        shares(1.0, torch.tensor([True, False, True, True])), torch.tensor([1, 0, 3, 2]) / 6, atol=2e-3, rtol=0
    )


def test_temperature_comes_before_top_p():
    """At 0.5 the shares 1:2:4 become 1:4:16, and the largest alone reaches 0.7."""
    logits = torch.tensor([1.0, 2.0, 4.0, 0.0]).log()
    draws = (torch.arange(1000, dtype=torch.float64) + 0.5) / 1000
    chosen, _ = Sampling(temperature=0.5, top_p=0.7).choose(logits.expand(1000, -1), ALLOWED, draws)
    assert set(chosen.tolist()) == {2}


def test_the_largest_draw_takes_a_token_that_may_be_drawn():
    logits = torch.tensor([[0.0, -1e4, 0.0, -torch.inf]])
    nearly_one = torch.tensor([1 - 2.0**-53], dtype=torch.float64)
    for top_p in (1.0, 0.999999, 0.3):
        chosen, nats = Sampling(top_p=top_p).choose(logits, ALLOWED, nearly_one)
        assert chosen.item() in (0, 2) and nats.item() > -1


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_special_tokens_are_never_generated(objective, temperature):
    for special in VOCABULARY.specials:
        objective.encoder.decoder_bias.data[special] = 50
    for generate, language_model in procedures_of(objective):
        texts = generate(language_model, [5], range(4), 6, Sampling(temperature))
        assert not {token for text in texts for token in text} & set(VOCABULARY.specials)


@pytest.mark.parametrize("cls", [CLM, MLM])
def test_ids_that_no_token_has_are_never_generated_nor_filled_in(cls):
    objective = build(cls, vocabulary=HOLES)
    objective.encoder.decoder_bias.data[list(HOLES.unused)] = 50
    for generate, language_model in procedures_of(objective):
        texts = generate(language_model, [8], range(4), 6, Sampling())
        assert texts[0] and not {token for text in texts for token in text} & set(HOLES.unused)
        template = [8, None, 9, None]
        fills = [unmask(language_model, template)] if cls is MLM else best_fills(language_model, template, 40)
        assert not {token for found in fills for token in found.fills} & set(HOLES.unused)


def test_a_text_ends_with_its_end_token():
    objective = build(CLM)
    objective.encoder.decoder_bias.data[VOCABULARY.sep] = 50
    assert left_to_right(ObjectiveLanguageModel(objective), [5], range(3), 6, Sampling()) == [[], [], []]
    objective.encoder.decoder_bias.data[VOCABULARY.sep] = 2
    texts = left_to_right(ObjectiveLanguageModel(objective), [5], range(30), 6, Sampling())
    assert len({len(text) for text in texts}) > 2


def test_the_same_seed_gives_the_same_text(objective):
    for generate, language_model in procedures_of(objective):
        texts = generate(language_model, [5], range(5), 6, Sampling(seed=3))
        assert generate(language_model, [5], range(5), 6, Sampling(seed=3)) == texts
        assert generate(language_model, [5], range(2), 6, Sampling(seed=3)) == texts[:2]
        assert generate(language_model, [5], range(5), 6, Sampling(seed=4)) != texts
        assert len({tuple(text) for text in texts}) > 1


@pytest.mark.parametrize("cls", [MLM, MaskedNextToken])
def test_greedy_unmasking_is_iterative_unmasking(cls):
    language_model = ObjectiveLanguageModel(build(cls))
    (text,) = unmasking(language_model, [5, 9], range(1), 5, Sampling(temperature=0))
    assert tuple(text) == unmask(language_model, [5, 9, *[None] * 5]).fills


@pytest.mark.parametrize("cls", [MLM, MaskedNextToken])
@pytest.mark.parametrize("generate", [random_order, unmasking, gibbs])
def test_one_token_is_drawn_from_its_conditional(generate, cls):
    language_model = ObjectiveLanguageModel(build(cls))
    texts = generate(language_model, [5, 9], range(4000), 1, Sampling())
    shares = torch.bincount(torch.tensor(texts).flatten(), minlength=VOCABULARY.size) / 4000
    (nats,) = blank_distributions(language_model, [5, 9, None]).masked_fill(~language_model.regular_V, -torch.inf)
    assert (shares - nats.softmax(-1)).abs().max() < 0.03


def test_random_order_samples_the_mean_over_orders_of_the_product_of_conditionals():
    """Every text of three tokens that are one of three, after a prompt."""
    vocabulary = Vocabulary(size=8, pad=0, unknown=1, cls=2, sep=3, mask=4, specials=(0, 1, 2, 3, 4))
    language_model = ObjectiveLanguageModel(build(MaskedDiffusion, vocabulary=vocabulary))

    def conditional(template, position):
        nats = blank_distributions(language_model, [6, *template]).masked_fill(~language_model.regular_V, -torch.inf)
        return nats[[i for i, token in enumerate(template) if token is None].index(position)].softmax(-1)

    expected = torch.zeros(3, 3, 3, dtype=torch.float64)
    for order in itertools.permutations(range(3)):
        for text in itertools.product(range(3), repeat=3):
            template, p = [None] * 3, 1.0
            for position in order:
                p *= conditional(template, position)[5 + text[position]].item()
                template[position] = 5 + text[position]
            expected[text] += p / 6
    assert expected.sum() == pytest.approx(1.0)
    texts = torch.tensor(random_order(language_model, [6], range(20_000), 3, Sampling())) - 5
    counts = torch.bincount((texts * torch.tensor([9, 3, 1])).sum(1), minlength=27)
    assert stats.chisquare(counts.numpy(), 20_000 * expected.flatten().numpy()).pvalue > FALSE_ALARM
    confident = torch.tensor(unmasking(language_model, [6], range(20_000), 3, Sampling())) - 5
    counts = torch.bincount((confident * torch.tensor([9, 3, 1])).sum(1), minlength=27)
    assert stats.chisquare(counts.numpy(), 20_000 * expected.flatten().numpy()).pvalue < FALSE_ALARM


def test_gibbs_visits_the_positions_in_a_random_order():
    """Each of three positions is drawn first about equally often, and every drawn position is masked."""
    language_model = ObjectiveLanguageModel(build(MLM))
    first = []
    honest = language_model.logits

    def watched(rows, targeted):
        assert (rows[targeted] == language_model.mask).all()
        if (rows[:, 2:-1] == language_model.mask).all():
            first.append(targeted[:, 2:-1].int().argmax(1))
        return honest(rows, targeted)

    language_model.logits = watched
    gibbs(language_model, [5], range(3000), 3, Sampling(), sweeps=2)
    shares = torch.bincount(first[0], minlength=3) / 3000
    assert len(first) == 1 and (shares - 1 / 3).abs().max() < 0.03


def test_samples_do_not_depend_on_their_number(objective):
    for generate, language_model in procedures_of(objective):
        texts = generate(language_model, [5], range(7), 6, Sampling())
        assert [text for number in range(7) for text in generate(language_model, [5], [number], 6, Sampling())] == texts


def test_gibbs_draws_each_token_anew():
    language_model = ObjectiveLanguageModel(build(MLM))
    once, often = (gibbs(language_model, [5], range(20), 4, Sampling(), sweeps=sweeps) for sweeps in (1, 5))
    assert all(any(text[i] != other[i] for text, other in zip(once, often, strict=True)) for i in range(4))


def test_models_and_prompts_that_do_not_fit_are_refused():
    causal, masked = ObjectiveLanguageModel(build(CLM)), ObjectiveLanguageModel(build(MLM))
    for generate, language_model in ((left_to_right, causal), (unmasking, masked), (gibbs, masked)):
        with pytest.raises(ValueError, match="room for 62"):
            generate(language_model, [5] * 60, range(1), 3, Sampling())
        with pytest.raises(ValueError, match="at least 1"):
            generate(language_model, [5], range(1), 0, Sampling())
    with pytest.raises(ValueError, match="cannot generate from left to right"):
        left_to_right(masked, [5], range(1), 3, Sampling())
    with pytest.raises(ValueError, match="cannot fill masks"):
        unmasking(causal, [5], range(1), 3, Sampling())
    with pytest.raises(ValueError, match="sweeps"):
        gibbs(masked, [5], range(1), 3, Sampling(), sweeps=0)
    causal.bos = ()
    with pytest.raises(ValueError, match="give a prompt"):
        left_to_right(causal, [], range(1), 3, Sampling())
    for bad in ({"temperature": -1}, {"top_p": 0}, {"top_p": 1.5}):
        with pytest.raises(ValueError, match="temperature must be"):
            Sampling(**bad)
