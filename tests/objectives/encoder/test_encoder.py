"""The encoder: attention by perturbation, documents, initial weights, target positions, KV cache."""

import math

import pytest
import torch

from objectives import Encoder, EncoderConfig
from objectives.encoder.layer import KVCache
from objectives.encoder.targets import TargetPositions
from tests.support.objectives import enlarge


def encoder(**changes):
    config = EncoderConfig(**{"width": 16, "depth": 2, "heads": 2, "max_length": 40, **changes})
    model = Encoder(config, 30, seed=0).eval()
    enlarge(model)
    return model


@pytest.mark.parametrize("attention", ["causal", "bidirectional"])
def test_attention_by_perturbation(attention):
    model = encoder()
    tokens = torch.randint(0, 30, (1, 12), generator=torch.Generator().manual_seed(0))
    for position in range(12):
        other = tokens.clone()
        other[0, position] = (other[0, position] + 1) % 30
        with torch.no_grad():
            changed = (model(tokens, attention) - model(other, attention)).abs().amax(-1)[0] > 1e-6
        expected = [attention == "bidirectional" or seen >= position for seen in range(12)]
        assert changed.tolist() == expected


def test_a_boolean_mask_equals_the_attention_it_spells_out():
    model = encoder()
    tokens = torch.randint(0, 30, (2, 12))
    lower = torch.ones(12, 12, dtype=torch.bool).tril().expand(2, 1, 12, 12)
    with torch.no_grad():
        torch.testing.assert_close(model(tokens, lower), model(tokens, "causal"))
        torch.testing.assert_close(model(tokens, torch.ones_like(lower)), model(tokens, "bidirectional"))


@pytest.mark.parametrize("attention", ["causal", "bidirectional", "mask"])
def test_a_document_in_a_block_gets_the_hidden_states_it_has_alone(attention):
    model = encoder()
    tokens = torch.randint(0, 30, (1, 15))
    numbers = torch.tensor([[0] * 4 + [1] * 6 + [2] * 5])
    whole = torch.ones(1, 1, 15, 15, dtype=torch.bool) if attention == "mask" else attention
    alone = "bidirectional" if attention == "mask" else attention
    with torch.no_grad():
        together = model(tokens, whole, numbers)
        for start, end in ((0, 4), (4, 10), (10, 15)):
            torch.testing.assert_close(together[:, start:end], model(tokens[:, start:end], alone))


def test_positions_matter():
    model = encoder()
    with torch.no_grad():
        output = model(torch.tensor([[5, 6, 6, 5]]), "bidirectional")
    assert (output[0, 1] - output[0, 2]).abs().max() > 1e-4


@pytest.mark.parametrize("attention", ["causal", "bidirectional"])
def test_hidden_states_of_the_last_layers(attention):
    """Those of an inner layer are what an encoder ends with, before its norm, that has no more layers."""
    model = encoder(depth=3)
    tokens, numbers = torch.randint(0, 30, (2, 12)), torch.tensor([[0] * 5 + [1] * 7] * 2)
    with torch.no_grad():
        found = model.hidden_states(tokens, attention, numbers, 3)
        assert [len(model.hidden_states(tokens, attention, numbers, count)) for count in (1, 2)] == [1, 2]
        assert torch.equal(found[-1], model(tokens, attention, numbers))
        assert torch.equal(found[-1], model.hidden_states(tokens, attention, numbers, 1)[0])
        for depth in (1, 2):
            shorter = encoder(depth=depth)
            shorter.load_state_dict(model.state_dict(), strict=False)
            shorter.final_norm = torch.nn.Identity()
            torch.testing.assert_close(found[depth - 1], shorter(tokens, attention, numbers))
    with pytest.raises(ValueError, match="4 layers are asked for, but the encoder has 3"):
        model.hidden_states(tokens, attention, numbers, 4)


def test_initial_weights():
    model = Encoder(EncoderConfig(width=128, depth=4, heads=4), 1000, seed=0)
    for name, parameter in model.named_parameters():
        if parameter.dim() == 2:
            expected = 0.02 / math.sqrt(8) if name.endswith("output.weight") else 0.02
            # A normal distribution cut at 3 standard deviations keeps 0.9866 of its deviation.
            assert parameter.std().item() == pytest.approx(expected * 0.9866, rel=0.02), name
            assert parameter.abs().max() <= 3 * expected
        else:
            assert set(parameter.unique().tolist()) <= {0.0, 1.0}, name


def test_too_long_for_the_encoder_is_refused():
    with pytest.raises(ValueError, match="max_length of 40"):
        encoder()(torch.zeros(1, 41, dtype=torch.long), "causal")


@pytest.mark.parametrize(
    "change", [{"width": 15}, {"heads": 3}, {"depth": 0}, {"dropout": 1.0}, {"width": 18, "heads": 6}]
)
def test_impossible_geometry_is_refused(change):
    with pytest.raises(ValueError):
        encoder(**change)


def test_dropout_is_off_in_evaluation_and_on_in_training():
    model = encoder(dropout=0.5)
    tokens = torch.randint(0, 30, (1, 12))
    with torch.no_grad():
        assert torch.equal(model(tokens, "causal"), model(tokens, "causal"))
        model.train()
        assert not torch.equal(model(tokens, "causal"), model(tokens, "causal"))


@pytest.mark.parametrize("attention", ["causal", "bidirectional", "mask"])
@pytest.mark.parametrize("depth", [1, 3])
@pytest.mark.parametrize("most", [0, 1, 4, 9, 10, 12])
def test_target_positions_alone_get_the_same_hidden_states_and_gradients(attention, depth, most):
    """Rows may have several targets, none, or all; in no row but the first are there more than four."""
    model = encoder(depth=depth)
    tokens = torch.randint(0, 30, (3, 12))
    numbers = torch.tensor([[0] * 12, [0] * 5 + [1] * 7, [0] * 11 + [1]])
    mask = torch.rand(3, 1, 12, 12) < 0.7
    seen = mask | torch.eye(12, dtype=torch.bool) if attention == "mask" else attention
    targeted = torch.zeros(3, 12, dtype=torch.bool)
    targeted[0, 12 - most :] = True
    targeted[2, [0, 2, 3, 11]] = most > 1
    for documents in (None, numbers):
        expected = model(tokens, seen, documents)[targeted]
        found = model(tokens, seen, documents, TargetPositions.of(targeted))
        torch.testing.assert_close(found, expected)
        weights = torch.rand_like(expected)
        gradients = [
            torch.autograd.grad((one * weights).sum(), list(model.parameters()), allow_unused=True)
            for one in (found, expected)
        ]
        for one, two in zip(*gradients, strict=True):
            assert (one is None) == (two is None)
            if one is not None:
                torch.testing.assert_close(one, two)


@pytest.mark.parametrize("steps", [[12], [1] * 12, [5, 1, 1, 3, 2]], ids=str)
def test_cached_steps_equal_one_forward_pass(steps):
    model = encoder(depth=3)
    tokens = torch.randint(0, 30, (2, 12))
    caches = [KVCache() for _ in model.layers]
    with torch.no_grad():
        parts = [model.forward_cached(part, caches) for part in tokens.split(steps, dim=1)]
        torch.testing.assert_close(torch.cat(parts, dim=1), model(tokens, "causal"))
    with pytest.raises(ValueError, match="max_length of 40"):
        model.forward_cached(torch.zeros(2, 29, dtype=torch.long), caches)
