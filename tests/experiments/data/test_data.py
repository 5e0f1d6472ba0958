from __future__ import annotations

import itertools
import os
import pickle
from dataclasses import dataclass

import numpy as np
import pytest
import torch

from experiments.corpora import LocalText
from experiments.data import TextData
from experiments.data.base import PARALLELISM
from experiments.data.stream import BlockStream, validation_items
from experiments.text import packing
from experiments.text.segmentation import Segmenter
from experiments.text.tokenizer import TokenizerConfig
from experiments.text.word_starts import WordStarts
from objectives import EVALUATION_EPOCH
from tests.support.corpus import TinyCorpus


def batches(count, **options):
    return list(itertools.islice(BlockStream(**options), count))


def flat(items):
    return list(itertools.chain.from_iterable(items))


def test_every_epoch_visits_every_block_once_in_its_own_order():
    items = flat(batches(30, blocks=20, batch_size=6, seed=3))
    epochs = [[index for epoch, index in items if epoch == number] for number in range(9)]
    assert all(sorted(epoch) == list(range(20)) for epoch in epochs)
    assert [epoch for epoch, _ in items] == sorted(epoch for epoch, _ in items)
    assert len({tuple(epoch) for epoch in epochs}) == 9
    assert epochs[4] == np.random.Generator(np.random.Philox(key=[3, 4])).permutation(20).tolist()
    assert items != flat(batches(30, blocks=20, batch_size=6, seed=4))


def test_a_batch_may_hold_blocks_of_two_epochs_or_more():
    items = batches(3, blocks=5, batch_size=4)
    assert [[epoch for epoch, _ in batch] for batch in items] == [[0, 0, 0, 0], [0, 1, 1, 1], [1, 1, 2, 2]]
    assert {epoch for epoch, _ in batches(1, blocks=2, batch_size=7)[0]} == {0, 1, 2, 3}


@pytest.mark.parametrize("world_size", [2, 3])
def test_ranks_share_out_each_global_batch(world_size):
    whole = batches(11, blocks=17, batch_size=4 * world_size, seed=1)
    ranks = [batches(11, blocks=17, batch_size=4, seed=1, rank=r, world_size=world_size) for r in range(world_size)]
    assert [flat(parts) for parts in zip(*ranks, strict=True)] == whole


@pytest.mark.parametrize("start", [0, 1, 7, 1000])
def test_starting_late_is_skipping(start):
    options = {"blocks": 13, "batch_size": 4, "seed": 5, "rank": 1, "world_size": 2}
    assert batches(9, **options, start_batch=start) == batches(start + 9, **options)[start:]


@pytest.mark.parametrize("wrong", [{"blocks": 0}, {"batch_size": 0}, {"seed": -1}, {"rank": 1}, {"start_batch": -1}])
def test_an_impossible_stream_is_refused(wrong):
    with pytest.raises(ValueError, match="no stream"):
        BlockStream(**{"blocks": 3, "batch_size": 2, **wrong})


def test_validation_blocks_are_spread_evenly_and_in_order():
    assert validation_items(5, 256, 2) == [[(EVALUATION_EPOCH, i) for i in part] for part in ([0, 1], [2, 3], [4])]
    indices = [index for _, index in flat(validation_items(1000, 8, 3))]
    assert indices == [0, 125, 250, 375, 500, 625, 750, 875]


@pytest.mark.parametrize("blocks", [7, 8, 100])
def test_validation_blocks_are_shared_out_evenly_among_ranks(blocks):
    ranks = [validation_items(blocks, 9, 2, rank, 3) for rank in range(3)]
    assert len({tuple(map(len, batches)) for batches in ranks}) == 1
    indices = [index for batches in ranks for _, index in flat(batches)]
    assert len(indices) == len(set(indices)) == min(blocks, 9) // 3 * 3


@pytest.fixture
def data(tmp_path):
    return make(tmp_path)


def make(root, **options):
    data = unprepared(root, **options)
    data.prepare_data()
    return data


def unprepared(root, **options):
    settings = {"block_length": 16, "batch_size": 4, "root": str(root), **options}
    return TextData(TinyCorpus(), TokenizerConfig("bpe", 300), **settings)


@pytest.mark.parametrize("name", ["packed", "vocabulary", "tokenizer", "fingerprints"])
def test_only_prepare_data_packs(tmp_path, name, monkeypatch):
    data = unprepared(tmp_path)
    with pytest.raises(ValueError, match=r"TinyCorpus has not been packed into .*; call prepare_data\(\) first"):
        getattr(data, name)
    assert not list(tmp_path.iterdir())
    data.prepare_data()
    monkeypatch.setattr(packing, "_build", None)
    data.prepare_data()
    assert getattr(data, name)
    again = unprepared(tmp_path)
    assert again.fingerprints == data.fingerprints and again.vocabulary == data.vocabulary


def first(loader, count):
    return list(itertools.islice(loader, count))


def test_batches_hold_the_blocks_they_name(data):
    blocks = data.packed.blocks("train")
    expected = batches(5, blocks=len(blocks), batch_size=4, seed=0)
    for batch, items in zip(first(data.train_batches(), 5), expected, strict=True):
        assert all(tensor.dtype == torch.int64 for tensor in batch[:3]) and batch.word_starts_BT.dtype == torch.bool
        assert list(zip(batch.epoch_B.tolist(), batch.index_B.tolist(), strict=True)) == items
        assert batch.tokens_BT.tolist() == blocks[batch.index_B.numpy()].tolist()


@pytest.mark.parametrize("loader", ["train_batches", "validation_batches"])
def test_batches_do_not_depend_on_workers(tmp_path, loader):
    alone = first(getattr(make(tmp_path), loader)(), 12)
    helped = first(getattr(make(tmp_path, num_workers=2), loader)(), 12)
    assert len(alone) == len(helped)
    assert all(
        torch.equal(a, b) for one, other in zip(alone, helped, strict=True) for a, b in zip(one, other, strict=True)
    )


def test_the_stream_goes_on_at_any_batch_of_any_rank(data):
    whole = first(data.train_batches(), 12)
    assert torch.equal(first(data.train_batches(6), 1)[0].index_B, whole[6].index_B)
    assert torch.equal(first(data.train_batches(0, rank=1, world_size=2), 3)[2].index_B, whole[5].index_B)


def test_validation_reads_the_same_blocks_each_time_spread_over_all(tmp_path):
    data = make(tmp_path, validation_blocks=10)
    count = data.packed.block_count("validation")
    for _ in range(2):
        read = list(data.validation_batches())
        assert [len(batch.index_B) for batch in read] == [4, 4, 2]
        assert torch.cat([batch.index_B for batch in read]).tolist() == [place * count // 10 for place in range(10)]
        assert all((batch.epoch_B == EVALUATION_EPOCH).all() for batch in read)
    data.validation_blocks = 10**6
    assert torch.cat([batch.index_B for batch in data.validation_batches()]).tolist() == list(range(count))


@dataclass(frozen=True)
class InPairs(Segmenter):
    def cut(self, text):
        return [text[place : place + 2] for place in range(0, len(text), 2)]


@pytest.mark.parametrize("segmenter", [None, InPairs()])
def test_batches_say_where_words_begin(tmp_path, segmenter):
    path = tmp_path / "text.txt"
    path.write_text("".join(f"今天天气好,river {line}.\n" for line in range(200)), encoding="utf-8")
    data = TextData(
        LocalText(str(path), validation=0.3),
        TokenizerConfig("character", 300),
        block_length=16,
        batch_size=4,
        root=str(tmp_path / "data"),
        segmenter=segmenter,
    )
    data.prepare_data()
    joined = 0
    for batch in (*first(data.train_batches(), 3), *data.validation_batches()):
        tokens = batch.tokens_BT.numpy()
        assert batch.word_starts_BT.tolist() == WordStarts(data.tokenizer, segmenter)(tokens).tolist()
        joined += int((WordStarts(data.tokenizer)(tokens) != batch.word_starts_BT.numpy()).sum())
    assert (joined > 0) == (segmenter is not None)


def test_vocabulary_knows_the_text(data):
    assert data.vocabulary.size == data.tokenizer.size == 300
    assert data.vocabulary.characters_per_token == data.packed.characters_per_token > 1


def test_workers_start_without_the_threads_of_tokenizers(tmp_path, monkeypatch):
    """And the environment is what it was afterwards; what the user has set stands."""
    monkeypatch.delenv(PARALLELISM, raising=False)
    data = make(tmp_path, num_workers=1)
    seen = torch.tensor([0])
    monkeypatch.setattr(data, "batch_of", lambda *_: seen + len(os.environ.get(PARALLELISM, "")))
    assert next(iter(data.train_batches())).item() == len("false")
    assert PARALLELISM not in os.environ
    monkeypatch.setenv(PARALLELISM, "true")
    assert next(iter(data.train_batches())).item() == len("true")
    assert os.environ[PARALLELISM] == "true"


def test_a_worker_is_sent_no_blocks(data):
    dataset = data.train_batches().dataset
    next(iter(dataset))
    assert len(pickle.dumps(dataset)) < data.packed.blocks("train").nbytes


@pytest.mark.parametrize(
    "wrong",
    [{"block_length": 0}, {"batch_size": 0}, {"validation_blocks": 0}, {"num_workers": -1}, {"seed": -1}],
)
def test_impossible_settings_are_refused(tmp_path, wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        make(tmp_path, **wrong)
