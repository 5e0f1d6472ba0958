"""The known language as data: fresh blocks, exact excess, ceilings; and a trained model near both floors."""

import itertools

import pytest
import torch

from experiments.data import GeneratedData
from experiments.data.stream import FreshStream
from experiments.evaluation.evaluation import Evaluation, EvaluationConfig
from experiments.evaluation.excess_loss import Excess
from experiments.languages.hidden_markov import HiddenMarkov
from experiments.records import durable, metrics_file, run_directory
from experiments.training.command_line import ObjectiveCLI
from objectives import CLM, IGNORE, MLM, Corruption, Key, Predictions, evaluation_key
from tests.support.objectives import build
from tests.support.tiny import fit_arguments, run_config

RULES = HiddenMarkov(4, 8, transition_concentration=0.3, emission_concentration=0.3, length=14, seed=1)


def make_data(**changes):
    return GeneratedData(
        RULES, **{"batch_size": 8, "validation_blocks": 20, "probe_train": 30, "probe_test": 20, **changes}
    )


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
    for one, other in zip(first(data.train_dataloader(), 5), first(parallel.train_dataloader(), 5), strict=True):
        assert all(torch.equal(a, b) for a, b in zip(one, other, strict=True))
    batch = next(iter(data.train_dataloader()))
    again = data.read("train", [(0, int(index)) for index in batch.index_B])
    assert torch.equal(batch.tokens_BT, again.tokens_BT)
    held_out = torch.cat([b.tokens_BT for b in data.val_dataloader()])
    assert held_out.shape == (20, 16)
    assert not (batch.tokens_BT[:, None] == held_out[None]).all(-1).any()


@pytest.mark.parametrize("change", [{"probe_train": 0}, {"probe_test": -1}, {"seed": 2**40}])
def test_impossible_data_is_refused(change):
    with pytest.raises(ValueError):
        make_data(**change).stream(0, 1, 0)


def test_excess_by_hand():
    excess = Excess()
    asked = torch.tensor([[True, True, False], [False, True, False]])
    floor = torch.tensor([[1.0, 2.0, 0.0], [0.0, 3.0, 0.0]], dtype=torch.float64)
    nats = torch.tensor([1.5, 2.5, 3.2], dtype=torch.float64)
    excess.update(Predictions(asked, nats, torch.zeros(3, dtype=torch.bool), torch.zeros(3, dtype=torch.bool)), floor)
    mean = 1.2 / 3
    error = ((1.0 - 2 * mean) ** 2 + (0.2 - mean) ** 2) ** 0.5 / 3
    assert excess.compute() == pytest.approx({"floor_nats": 2.0, "excess_nats": mean, "excess_error": error})


def test_a_loss_far_below_the_floor_is_an_error():
    excess = Excess()
    asked = torch.ones(50, 4, dtype=torch.bool)
    floor = torch.full((50, 4), 2.0, dtype=torch.float64)
    nats = 1.9 + 0.01 * torch.rand(200, dtype=torch.float64)
    flags = torch.zeros(200, dtype=torch.bool)
    excess.update(Predictions(asked, nats, flags, flags), floor)
    with pytest.raises(ArithmeticError, match="below the best possible one"):
        excess.compute()


@pytest.mark.parametrize("cls", [CLM, MLM])
def test_the_best_possible_model_has_no_excess(cls):
    """Predictions that are the floor itself, for the very views that a run is asked."""
    data, excess = make_data(), Excess()
    objective = build(cls, vocabulary=data.vocabulary)
    for batch in data.val_dataloader():
        for view in objective.views(batch.tokens_BT, evaluation_key(batch.index_B)):
            floor = data.floor(view, batch.tokens_BT, getattr(objective, "corruption", None))
            asked = view.targets_BT != IGNORE
            assert (floor[~asked] == 0).all()
            flags = torch.zeros(int(asked.sum()), dtype=torch.bool)
            excess.update(Predictions(asked, floor[asked], flags, flags), floor)
    assert excess.compute()["excess_nats"] == 0


def test_an_untrained_model_is_above_the_floor_and_below_the_ceilings():
    data = make_data()
    evaluate = Evaluation(data, EvaluationConfig(word_swap_pairs=3, mask_rates=(0.15,)))
    for cls in (CLM, MLM):
        values = evaluate(build(cls, vocabulary=data.vocabulary))
        assert values["validation/excess_loss"] > 5 * values["validation/excess_loss_standard_error"] > 0
        assert values["validation/loss"] == pytest.approx(
            values["validation/bayes_loss"] + values["validation/excess_loss"]
        )
        token, past, both = (values[f"probe/states/bayes_accuracy_{view}"] for view in ("token", "past", "both"))
        assert values["probe/states/majority_accuracy"] < token < past < both < 1
        assert 0 <= values["word_swap/accuracy"] <= 1
        assert ("validation/excess_loss@0.15" in values) == (cls is MLM)


def test_a_fixed_count_of_selections_has_no_floor():
    data = make_data()
    objective = build(MLM, vocabulary=data.vocabulary, corruption=Corruption(selection="exact"))
    with pytest.raises(ValueError, match="bernoulli"):
        Evaluation(data, EvaluationConfig(word_swap_pairs=0))(objective)


def test_a_question_of_another_kind_has_no_floor():
    data = make_data()
    batch = next(iter(data.val_dataloader()))
    objective = build(CLM, vocabulary=data.vocabulary)
    (view,) = objective.views(batch.tokens_BT, Key(0, batch.epoch_B, batch.index_B))
    with pytest.raises(ValueError, match="known for"):
        data.floor(view._replace(attention="bidirectional"), batch.tokens_BT, None)


def test_blocks_too_long_for_the_pairs_are_refused():
    with pytest.raises(ValueError, match="longest_sentence"):
        make_data().word_swap_pairs(3, longest=10)


def test_scrambled_blocks_differ_in_two_neighbours():
    for real, scrambled in make_data().word_swap_pairs(10, longest=14):
        places = [place for place in range(14) if real[place] != scrambled[place]]
        assert len(places) == 2 and places[1] == places[0] + 1
        assert sorted(real) == sorted(scrambled)


@pytest.mark.slow
@pytest.mark.parametrize(("objective", "within"), [("CLM", 0.03), ("MLM", 0.12)])
def test_a_trained_model_comes_near_its_floor(objective, within, tmp_path):
    config = run_config(tmp_path, objective)
    config["model"]["init_args"] |= {
        "encoder": {"width": 32, "depth": 2, "heads": 2, "max_length": 16},
        "budget": {"tokens": 400_000},
    }
    config["data"] = {
        "class_path": "experiments.data.GeneratedData",
        "init_args": {"rules": {"states": 4, "symbols": 8, "length": 14, "seed": 2}, "batch_size": 64},
    }
    config["evaluation"] = {"snapshots": 3, "word_swap_pairs": 0, "mask_rates": [0.15]}
    config |= {"record_every_steps": 100, "checkpoint_every_steps": 1000}
    ObjectiveCLI(fit_arguments(config, tmp_path))
    (run,) = (tmp_path / "runs").iterdir()
    excess = [row.value for row in metrics_file.read_metrics(run) if row.quantity == "validation/excess_loss"]
    assert excess == sorted(excess, reverse=True)
    assert 0 < excess[-1] < within
    assert durable.read_json(run / run_directory.RUN)["corpus"] == "HiddenMarkov"
