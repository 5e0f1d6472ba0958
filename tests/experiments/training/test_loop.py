"""What the Trainer is given to read."""

import itertools
from types import SimpleNamespace

import pytest
import torch

from experiments.training.loop import TrainingData
from tests.support.known_rules import make_data


@pytest.mark.parametrize(
    ("step", "accumulated", "rank", "ranks", "place"),
    [(0, 1, 0, 1, 0), (3, 2, 0, 1, 6), (0, 1, 1, 2, 1), (1, 3, 1, 2, 7)],
)
def test_the_trainer_reads_its_ranks_batches_from_where_it_stands(step, accumulated, rank, ranks, place):
    blocks = make_data()
    whole = list(itertools.islice(blocks.train_batches(), 8))
    data = TrainingData(blocks)
    data.trainer = SimpleNamespace(
        global_step=step, accumulate_grad_batches=accumulated, global_rank=rank, world_size=ranks
    )
    assert torch.equal(next(iter(data.train_dataloader())).index_B, whole[place].index_B)
