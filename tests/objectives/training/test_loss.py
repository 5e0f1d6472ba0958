"""The summed loss: fused and plain, against logarithms and exponentials in float64."""

import pytest
import torch

from objectives.training import loss
from objectives.training.loss import CHUNK, summed_nll, target_nlls

fused_only = pytest.mark.skipif(loss._FUSED is None, reason="this torch has no fused linear_cross_entropy")


def inputs(count):
    generator = torch.Generator().manual_seed(0)
    shapes = ((count, 8), (50, 8), (50,))
    parts = [torch.randn(shape, generator=generator).requires_grad_() for shape in shapes]
    return parts, torch.randint(0, 50, (count,), generator=generator)


def check(count):
    """Loss and gradients of `summed_nll` against the definition."""
    parts, targets = inputs(count)
    found = summed_nll(*parts, targets)
    features, weight, bias = (part.double() for part in parts)
    logits = features @ weight.T + bias
    expected = (logits.exp().sum(1).log() - logits[torch.arange(count), targets]).sum()
    assert found.item() == pytest.approx(expected.item(), rel=1e-6)
    for one, other in zip(torch.autograd.grad(found, parts), torch.autograd.grad(expected, parts), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-4)


@pytest.fixture
def fused_calls(monkeypatch):
    """How often torch's fused loss is called."""
    calls = []
    honest = getattr(torch.nn.functional, "linear_cross_entropy", None)

    def counted(*arguments, **settings):
        calls.append(settings)
        return honest(*arguments, **settings)

    monkeypatch.setattr(torch.nn.functional, "linear_cross_entropy", counted, raising=False)
    return calls


@fused_only
def test_many_targets_take_the_fused_loss(fused_calls):
    check(3 * CHUNK - 36)
    assert len(fused_calls) == 1


def test_few_targets_take_the_plain_loss(fused_calls):
    for count in (0, 1, CHUNK):
        check(count)
    assert not fused_calls


def test_many_targets_take_the_plain_loss_where_torch_has_no_fused_one(fused_calls, monkeypatch):
    monkeypatch.setattr(loss, "_FUSED", None)
    check(3 * CHUNK - 36)
    assert not fused_calls


def test_the_nats_of_single_targets_sum_to_the_summed_loss():
    parts, targets = inputs(CHUNK + 5)
    found = target_nlls(*parts, targets)
    assert found.shape == targets.shape
    assert found.sum().item() == pytest.approx(summed_nll(*parts, targets).item(), rel=1e-5)


@pytest.mark.parametrize("held", [50, 2**26])
def test_mixed_precision_sums_what_logits_of_16_bits_give_in_32(held, monkeypatch, fused_calls):
    """A sum of 16 bits would keep three digits: 1,500 targets of about 4 nats are 6,000, in steps of 32."""
    monkeypatch.setattr(loss, "LOGITS", held)
    parts, targets = inputs(3 * CHUNK - 36)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        found = summed_nll(*parts, targets)
    assert found.dtype == torch.float32 and not fused_calls
    rounded = [part.bfloat16() for part in parts]
    logits = torch.nn.functional.linear(*rounded).double()
    expected = -logits.log_softmax(1).gather(1, targets[:, None]).sum()
    assert found.item() == pytest.approx(expected.item(), rel=1e-5)
    exact = torch.autograd.grad(summed_nll(*parts, targets), parts)
    for one, other in zip(torch.autograd.grad(found, parts), exact, strict=True):
        torch.testing.assert_close(one, other, rtol=0.05, atol=0.02 * other.abs().max().item())
