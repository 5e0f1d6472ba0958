"""Training step and predictions: against a brute-force softmax, and equal gradients however a step is divided."""

import math
import os

import pytest
import torch
import torch.multiprocessing

import objectives.base
from objectives import CLM, IGNORE, MLM, Batch, Corruption, allow_imports
from tests.support.objectives import EXAMPLES, VOCABULARY, attached, build, make_batch, rows_of


def step(objective, batch, accumulate=1, world_size=1):
    return trained(objective, batch, accumulate, world_size)[0]


def trained(objective, batch, accumulate=1, world_size=1):
    """The loss of a step, and the ledger after it."""
    module = attached(objective, accumulate, world_size)
    return module.training_step(batch, 0), module.ledger.compute()


def brute_force_nats(objective, batch):
    """Weighted sum, sum of weights and number of -log softmax at the targets of a first step, one at a time in
    float64."""
    weighted, total, count = 0.0, 0.0, 0
    for view in objective.views(batch.tokens_BT, batch.key(objective.shared.seed, 0.0)):
        hidden = objective.encode(view, batch.tokens_BT)
        logits = objective.encoder.decode(objective.encoder.head(hidden)).double().tolist()
        for row, targets in enumerate(view.targets_BT.tolist()):
            for position, target in enumerate(targets):
                if target != IGNORE:
                    scores = logits[row][position]
                    nats = math.log(math.fsum(math.exp(s) for s in scores)) - scores[target]
                    weight = 1.0 if view.weights_BT is None else view.weights_BT[row, position].item()
                    weighted += weight * nats
                    total += weight
                    count += 1
    return weighted, total, count


def test_loss_is_the_brute_force_softmax(make):
    batch = make_batch(blocks=4)
    objective = make(reduction="sum")
    weighted, weight, count = brute_force_nats(objective, batch)
    assert step(objective, batch).item() == pytest.approx(weighted, rel=1e-5)
    mean, totals = trained(make(), batch)
    assert mean.item() == pytest.approx(weighted / (batch.tokens_BT.numel() * objective.nominal_weight(0)), rel=1e-5)
    assert totals["nats"] == pytest.approx(weighted, rel=1e-5)
    assert totals["weight"] == pytest.approx(weight, rel=1e-6)
    assert totals["targets"] == count


def gradient(objective, loss):
    objective.zero_grad()
    loss.backward()
    return torch.cat([p.grad.flatten() for p in objective.parameters() if p.grad is not None])


@pytest.mark.parametrize("reduction", ["mean", "sum"])
def test_accumulated_gradient_is_that_of_one_batch(make, reduction):
    batch = make_batch(blocks=32)
    objective = make(reduction=reduction)
    whole = gradient(objective, step(objective, batch))
    parts = [slice(start, start + 8) for start in range(0, 32, 8)]
    # Lightning divides the loss of each micro-batch by their number.
    accumulated = sum(gradient(objective, step(objective, rows_of(batch, rows), accumulate=4) / 4) for rows in parts)
    torch.testing.assert_close(accumulated, whole, rtol=1e-5, atol=1e-6 * whole.abs().max().item())


def test_the_mean_of_micro_batch_means_is_biased():
    """For sparse targets; it is what the sum over a constant replaces."""
    batch, objective = make_batch(blocks=32), build(MLM)
    parts = [slice(start, start + 8) for start in range(0, 32, 8)]
    biased = sum(_mean_gradient(objective, rows_of(batch, rows)) for rows in parts) / 4
    unbiased = _mean_gradient(objective, batch)
    assert (biased - unbiased).abs().max() > 1e-4 * unbiased.abs().max()


def _mean_gradient(objective, batch):
    *_, count = brute_force_nats(objective, batch)
    loss = step(objective, batch) * batch.tokens_BT.numel() * objective.nominal_weight(0) / count
    return gradient(objective, loss)


def _rank_gradients(rank, cases, port, results):
    os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    torch.set_num_threads(1)
    torch.distributed.init_process_group("gloo", rank=rank, world_size=2)
    allow_imports([EXAMPLES])
    gradients = []
    for cls, changes in cases:
        objective = build(cls, **changes)
        wrapped = torch.nn.parallel.DistributedDataParallel(_Step(objective))
        batch = make_batch(blocks=32)
        wrapped(*rows_of(batch, slice(16 * rank, 16 * rank + 16))).backward()
        gradients.append(torch.cat([p.grad.flatten() for p in objective.parameters() if p.grad is not None]))
    if rank == 0:
        torch.save(gradients, results)
    torch.distributed.barrier()
    # Skip destructors: gloo's joins a thread that may be waiting for the lock of this one.
    os._exit(0)


class _Step(torch.nn.Module):
    def __init__(self, objective):
        super().__init__()
        self.objective = objective

    def forward(self, *fields):
        return step(self.objective, Batch(*fields), world_size=2)


@pytest.mark.slow
def test_gradient_of_two_ranks_is_that_of_one(cases, tmp_path):
    """Of every case, and under both reductions; by the same two processes, because they take long to start."""
    made = [*cases.values(), (MLM, {"reduction": "sum"})]
    port = 29_500 + os.getpid() % 5_000
    torch.multiprocessing.spawn(_rank_gradients, (made, port, tmp_path / "gradients.pt"), nprocs=2)
    for (cls, changes), shared in zip(made, torch.load(tmp_path / "gradients.pt"), strict=True):
        objective = build(cls, **changes)
        whole = gradient(objective, step(objective, make_batch(blocks=32)))
        close = {"rtol": 1e-5, "atol": 1e-6 * whole.abs().max().item()}
        torch.testing.assert_close(shared, whole, msg=lambda text, of=cls: f"{of.__name__}: {text}", **close)


def test_a_batch_without_targets_gives_zero_and_no_nan():
    batch = make_batch(blocks=2, length=8)
    batch = batch._replace(tokens_BT=torch.full_like(batch.tokens_BT, VOCABULARY.sep))
    objective = build(MLM)
    loss, totals = trained(objective, batch)
    assert loss.item() == 0
    assert gradient(objective, loss).abs().sum() == 0
    assert totals["targets"] == 0


def test_ledger_counts_by_hand():
    batch = make_batch(blocks=16)
    objective = build(MLM, corruption=Corruption(rate=0.5, mask=0.4, random=0.3, keep=0.3))
    _, totals = trained(objective, batch)
    (view,) = objective.views(batch.tokens_BT, batch.key(objective.shared.seed))
    selected = view.targets_BT != IGNORE
    changed = (view.inputs_BT != batch.tokens_BT).sum().item()
    assert totals["tokens"] == 16 * 32
    assert totals["selected"] == totals["targets"] == selected.sum().item()
    assert totals["corrupted"] == changed
    assert totals["kept"] == selected.sum().item() - changed > 0
    assert totals["density"] == selected.sum().item() / (16 * 32)


@pytest.mark.parametrize("held", [1, 3 * VOCABULARY.size, 2**22])
def test_predictions_by_hand(held, monkeypatch):
    """However many logits are held at once."""
    monkeypatch.setattr(objectives.base, "LOGITS", held)
    objective = build(CLM)
    batch = make_batch(blocks=2)
    (view,) = objective.views(batch.tokens_BT, batch.evaluation_key())
    with torch.no_grad():
        predictions = objective.predict(view, batch.tokens_BT)
        logits = objective.encoder.decode(objective.encoder.head(objective.encode(view, batch.tokens_BT)))
    targeted = view.targets_BT != IGNORE
    assert torch.equal(predictions.targeted_BT, targeted)
    expected = torch.nn.functional.cross_entropy(logits[targeted], view.targets_BT[targeted], reduction="none")
    torch.testing.assert_close(predictions.nats_N, expected.double(), rtol=1e-5, atol=1e-5)
    assert torch.equal(predictions.correct_N, logits[targeted].argmax(-1) == view.targets_BT[targeted])
    assert predictions.special_N.sum() == 4  # in each block an unknown token, and the end of the first document


def test_predictions_are_finite_where_softmax_underflows():
    objective = build(CLM)
    with torch.no_grad():
        objective.encoder.decoder_bias[5] = 500.0
    batch = make_batch(blocks=1)
    (view,) = objective.views(batch.tokens_BT, batch.evaluation_key())
    with torch.no_grad():
        nats = objective.predict(view, batch.tokens_BT).nats_N
    assert nats.isfinite().all() and nats.max() > 300
