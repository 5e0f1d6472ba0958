"""The known language as data: fresh blocks, known Bayes losses; and a trained model near both of them."""

import itertools

import pytest
import torch

from experiments.data.stream import FreshStream
from experiments.records import durable, metrics_file, run_directory
from experiments.training.command_line import ObjectiveCLI
from objectives import CLM, IGNORE, MLM, Corruption, ExactCount, evaluation_key
from tests.support.known_rules import make_data
from tests.support.objectives import build
from tests.support.tiny import METRICS, fit_arguments, only_run, run_config


def first(stream, count):
    return list(itertools.islice(stream, count))


def test_every_block_is_read_once_and_no_two_seeds_read_the_same():
    items = {seed: list(itertools.chain(*first(FreshStream(4, seed, 0, 1, 0), 50))) for seed in (0, 1, 2)}
    together = [item for part in items.values() for item in part]
    assert len(set(together)) == len(together) == 600


def test_ranks_share_out_the_stream_and_a_late_start_skips():
    whole = first(FreshStream(8, 1, 0, 1, 0), 10)
    ranks = [first(FreshStream(4, 1, rank, 2, 0), 10) for rank in (0, 1)]
    assert [a + b for a, b in zip(*ranks, strict=True)] == whole
    assert first(FreshStream(8, 1, 0, 1, 3), 7) == whole[3:]


def test_blocks_come_again_from_their_index_with_any_number_of_workers():
    data, parallel = make_data(seed=5), make_data(seed=5, num_workers=2)
    for one, other in zip(first(data.train_batches(), 5), first(parallel.train_batches(), 5), strict=True):
        assert all(torch.equal(a, b) for a, b in zip(one[:3], other[:3], strict=True))
        assert one.word_starts_BT is None
    batch = next(iter(data.train_batches()))
    again = data.batch_of("train", [(0, int(index)) for index in batch.index_B])
    assert torch.equal(batch.tokens_BT, again.tokens_BT)
    validation = torch.cat([b.tokens_BT for b in data.validation_batches()])
    assert validation.shape == (20, 16)
    assert not (batch.tokens_BT[:, None] == validation[None]).all(-1).any()


@pytest.mark.parametrize("change", [{"probe_train": 0}, {"probe_test": -1}, {"seed": 2**40}])
def test_impossible_data_is_refused(change):
    with pytest.raises(ValueError):
        make_data(**change).stream(0, 1, 0)


def views(data, cls, **changes):
    """The view of a validation batch, with its clean tokens."""
    batch = next(iter(data.validation_batches()))
    objective = build(cls, vocabulary=data.vocabulary, **changes)
    (view,) = objective.views(batch.tokens_BT, evaluation_key(batch.index_B))
    return view, batch.tokens_BT


@pytest.mark.parametrize("cls", [CLM, MLM])
def test_the_bayes_loss_of_a_view_is_at_its_targets(cls):
    data = make_data()
    view, tokens = views(data, cls)
    nats = data.bayes_loss(view, tokens)
    assert nats.dtype == torch.float64 and nats.shape == tokens.shape
    assert (nats >= 0).all() and (nats[view.targets_BT == IGNORE] == 0).all() and nats.sum() > 0


def test_where_no_bayes_loss_is_known_it_is_none():
    data = make_data()
    counted, tokens = views(data, MLM, corruption=Corruption(selection=ExactCount()))
    assert counted.channel is None and data.bayes_loss(counted, tokens) is None


def test_a_target_that_lies_one_token_on_has_the_bayes_loss_of_that_token():
    data = make_data()
    masked, tokens = views(data, MLM)
    nats = data.bayes_loss(masked, tokens)
    shifted = masked._replace(targets_BT=masked.targets_BT.roll(-1, dims=1), shift=1)
    assert torch.equal(data.bayes_loss(shifted, tokens), nats.roll(-1, dims=1))


@pytest.mark.slow
@pytest.mark.parametrize(("objective", "within"), [("CLM", 0.03), ("MLM", 0.12)])
def test_a_trained_model_comes_near_the_bayes_loss(objective, within, tmp_path):
    config = run_config(tmp_path, objective)
    config["model"]["init_args"] |= {
        "encoder": {"width": 32, "depth": 2, "heads": 2, "max_length": 16},
        "budget": {"tokens": 400_000},
    }
    config["data"] = {
        "class_path": "experiments.data.GeneratedData",
        "init_args": {"rules": {"states": 4, "symbols": 8, "length": 14, "seed": 2}, "batch_size": 64},
    }
    config["evaluation"] = {"snapshots": 3, "metrics": METRICS[:-1]}
    config |= {"record_every_steps": 100, "checkpoint_every_steps": 1000}
    ObjectiveCLI(fit_arguments(config, tmp_path))
    run = only_run(tmp_path)
    excess = [row.value for row in metrics_file.read_metrics(run) if row.quantity == "validation/excess_loss"]
    assert excess == sorted(excess, reverse=True)
    assert 0 < excess[-1] < within
    assert durable.read_json(run / run_directory.RUN)["corpus"] == "HiddenMarkov"
