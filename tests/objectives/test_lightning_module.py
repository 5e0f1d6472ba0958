"""The training shell: it asks nothing of the device in a step, and takes none whose gradient is no number."""

from types import SimpleNamespace

import pytest
import torch

from objectives import CLM, MLM, Diverged, OptimizerConfig
from tests.support.objectives import attached, build, make_batch


@pytest.mark.parametrize("documents", ["separate", "joined"])
@pytest.mark.parametrize("blocks", [4, 256])
def test_a_step_asks_its_device_for_nothing(make, documents, blocks):
    """On the meta device tensors have no values, so whatever would wait for one, for a size that depends on one, or for
    a comparison, raises."""
    module, batch = attached(make(documents=documents).to("meta")), make_batch(blocks=blocks)
    module.to("meta")
    with pytest.raises(RuntimeError, match=r"[Mm]eta"):
        module.objective.encoder.decoder_bias.sum().item()
    module.training_step(batch, 0).backward()
    optimizer = SimpleNamespace()
    module.configure_gradient_clipping(optimizer)
    assert optimizer.found_inf.device.type == "meta"
    assert all(parameter.grad is not None for parameter in module.parameters())


@pytest.mark.parametrize("cls", [CLM, MLM])
def test_a_compiled_encoder_gives_the_same_gradients_for_the_same_masks(cls, graphs):
    """Of batches of several sizes, whose numbers of targets differ: it is compiled once for all of them."""
    shells = [attached(build(cls, compile=compiled)) for compiled in (False, True)]
    for number in range(3):
        batch = make_batch(blocks=4 + number, seed=number)
        for shell, compiles in zip(shells, (False, True), strict=True):
            before = len(graphs)
            shell.zero_grad()
            shell.training_step(batch, 0).backward()
            assert (len(graphs) > before) == (compiles and number == 0)
        eager, compiled = shells
        for (name, one), other in zip(eager.named_parameters(), compiled.parameters(), strict=True):
            torch.testing.assert_close(other.grad, one.grad, rtol=1e-4, atol=1e-4, msg=name)
    totals, others = (shell.ledger.compute() for shell in shells)
    assert totals.pop("nats") == pytest.approx(others.pop("nats"))
    assert totals == others
    assert eager.state_dict().keys() == compiled.state_dict().keys()


def test_what_is_counted_on_the_host_is_what_was_on_the_device():
    """The views of a batch are made on the host, whatever device trains."""
    made = []

    class Watched(MLM):
        def views(self, tokens_BT, key):
            made.append(tokens_BT.device.type)
            return super().views(tokens_BT, key)

    module = attached(build(Watched).to("meta"))
    batch = make_batch(blocks=4)
    assert module.transfer_batch_to_device(batch, torch.device("meta"), 0) is batch
    module.training_step(batch, 0)
    assert made == ["cpu"]


def gradients_of(parameters, value):
    for parameter in parameters:
        parameter.grad = torch.full_like(parameter, value)


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_no_step_is_taken_after_one_that_diverged(bad):
    """As on a device that is not waited for: the optimiser is told by a tensor, and the host asks when it records."""
    module = attached(build(MLM, optimizer=OptimizerConfig(gradient_clip=0.0)))
    optimizer = module.configure_optimizers()
    parameters = list(module.parameters())
    weights = []
    for step, value in enumerate((1.0, bad, 1.0)):
        gradients_of(parameters, value)
        norm = torch.nn.utils.clip_grad_norm_(parameters, float("inf"))
        module.gradient_watch.watch(optimizer, norm, step)
        optimizer.step()
        weights.append([parameter.detach().clone() for parameter in parameters])
    assert all(map(torch.equal, weights[0], weights[1])) and all(map(torch.equal, weights[0], weights[2]))
    with pytest.raises(Diverged, match=f"the norm of the gradient is {bad}") as caught:
        module.gradient_watch.check()
    assert caught.value.step == 1


def test_mixed_precision_of_16_bits_looks_for_overflow_itself():
    module = attached(build(MLM), precision="16-mixed")
    optimizer = module.configure_optimizers()
    assert not optimizer.defaults["fused"], "a fused one would be clipped before it is scaled back"
    gradients_of(module.parameters(), float("inf"))
    module.configure_gradient_clipping(optimizer)
    module.gradient_watch.check()
