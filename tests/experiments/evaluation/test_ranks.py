"""Processes that train together measure together what one alone does."""

import multiprocessing

import pytest
from torch import distributed

from experiments.evaluation.validation_loss import validation_loss
from objectives import MLM
from tests.support.known_rules import make_data
from tests.support.objectives import build


def measured():
    data = make_data()
    return validation_loss(build(MLM, vocabulary=data.vocabulary), data)


def measure_as(rank, store, results):
    distributed.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=2)
    try:
        results.put((rank, measured()))
    finally:
        distributed.destroy_process_group()


def test_two_ranks_measure_what_one_does(tmp_path):
    context = multiprocessing.get_context("spawn")
    results = context.Queue()
    ranks = [context.Process(target=measure_as, args=(rank, tmp_path / "store", results)) for rank in range(2)]
    for process in ranks:
        process.start()
    found = dict(results.get(timeout=120) for _ in ranks)
    for process in ranks:
        process.join()
    alone = measured()
    assert "excess_loss" in alone
    for rank in range(2):
        assert found[rank] == pytest.approx(alone, rel=1e-5), rank
