"""Objectives in sequence: each phase is its objective, and a switch is a function of the step alone."""

import math

import pytest
import torch

from objectives import (
    CLM,
    MLM,
    Budget,
    Corruption,
    Hybrid,
    Key,
    MaskedNextToken,
    OptimizerConfig,
    Phase,
    Phased,
    Scheduled,
)
from objectives.construction.class_paths import allow_imports
from objectives.training.optimizer import spent_share, steps_until
from tests.support.objectives import attached, build, make_batch

CAUSAL = {"class_path": "objectives.CLM"}


def masked(rate):
    return {"class_path": "objectives.MLM", "init_args": {"corruption": {"rate": rate}}}


SCHEDULE = {"class_path": "objectives.Scheduled", "init_args": {"start": 0.4, "end": 0.2}}
STEP = {"class_path": "objectives.Scheduled", "init_args": {"start": 0.4, "end": 0.2, "shape": "step", "switch": 0.5}}


def phased(*phases, **changes):
    return build(Phased, phases=[Phase(*phase) for phase in phases], **changes)


@pytest.mark.parametrize(
    ("spent", "cls", "of_phase"),
    [(0, CLM, 0), (0.24, CLM, 0.96), (0.25, MLM, 0), (0.5, MLM, 1 / 3), (0.999, MLM, 0.749 / 0.75), (1, MLM, 1)],
)
def test_a_phase_is_its_objective_over_the_phase(spent, cls, of_phase):
    objective = phased((CAUSAL, 0.25), (masked(SCHEDULE), 0.75))
    alone = build(cls, **({"corruption": Corruption(Scheduled(0.4, 0.2))} if cls is MLM else {}))
    batch = make_batch()
    (found,) = objective.views(batch.tokens_BT, Key(5, batch.epoch_B, batch.index_B, spent))
    (expected,) = alone.views(batch.tokens_BT, Key(5, batch.epoch_B, batch.index_B, of_phase))
    assert torch.equal(found.inputs_BT, expected.inputs_BT) and torch.equal(found.targets_BT, expected.targets_BT)
    assert (found.attention, found.shift) == (expected.attention, expected.shift)
    assert type(found.channel) is type(expected.channel)
    assert objective.densities(spent) == pytest.approx(alone.densities(of_phase))
    assert objective.nominal_weight(spent) == pytest.approx(alone.nominal_weight(of_phase))


def test_it_says_of_itself_what_its_last_objective_does():
    objective = phased((CAUSAL, 0.25), (masked(0.3), 0.75))
    of_mlm = build(MLM, corruption=Corruption(0.3)).traits
    assert (objective.traits.name, objective.traits.numeric) == ("Phased", {"share of CLM": 0.25})
    assert objective.traits.categorical == {"phases": "CLM → MLM"}
    for name in ("question", "attention", "scores", "huggingface"):
        assert getattr(objective.traits, name) == getattr(of_mlm, name)
    three = phased((masked(0.3), 0.1), (masked(0.2), 0.2), (CAUSAL, 0.7)).traits
    assert three.numeric == {} and three.categorical == {"phases": "MLM → MLM → CLM"} and three.attention == "causal"


def test_density_and_budget_are_those_of_the_phases():
    objective = phased((CAUSAL, 0.25), (masked(0.2), 0.75), budget=Budget(flops=1e9))
    assert objective.nominal_density == pytest.approx(0.25 + 0.75 * 0.2)
    costs = [
        build(cls, **changes).flops_per_token(32)
        for cls, changes in ((CLM, {}), (MLM, {"corruption": Corruption(0.2)}))
    ]
    assert objective.budget_tokens(32) == math.ceil(1e9 / (0.25 * costs[0] + 0.75 * costs[1]))


def test_there_is_one_encoder():
    objective = phased((CAUSAL, 0.5), (masked(0.3), 0.5))
    assert objective.state_dict().keys() == build(CLM).state_dict().keys()
    assert len(list(objective.parameters())) == len(list(build(CLM).parameters()))
    assert sum("Encoder" in type(module).__name__ for module in objective.modules()) == 1


def test_a_switch_is_where_the_phase_begins_in_decimals():
    assert phased((CAUSAL, 0.1), (masked(0.2), 0.2), (CAUSAL, 0.7)).switches == (0.1, 0.3)
    assert phased((CAUSAL, 0.2), (masked(STEP), 0.8)).switches == (0.2, pytest.approx(0.6))
    assert build(MLM, corruption=Corruption(Scheduled(0.4, 0.2, "step", 0.7))).switches == (0.7,)
    step = Corruption(Scheduled(0.4, 0.2, "step", 0.7))
    assert build(MaskedNextToken, corruption=step).switches == (0.7,)
    assert build(Hybrid, corruption=step, causal=Scheduled(1, 0, "step", 0.3)).switches == (0.3, 0.7)
    assert build(MLM, corruption=Corruption(Scheduled(0.4, 0.2))).switches == build(CLM).switches == ()


@pytest.mark.parametrize("budget", [1, 64, 1000, 1920, 12_345])
@pytest.mark.parametrize("share", [0.1, 0.2, 0.3, 1 / 3, 0.5, 0.7, 0.9, 1.0])
def test_a_share_is_read_after_the_first_step_that_sees_it(budget, share):
    before = steps_until(share, budget, 64)
    assert spent_share(before * 64, budget) >= share > spent_share((before - 1) * 64, budget)


@pytest.mark.parametrize(
    ("phases", "words"),
    [
        ([], "sum to 1, but are \\[\\]"),
        ([(CAUSAL, 0.5), (CAUSAL, 0.4)], "sum to 1, but are \\[0.5, 0.4\\]"),
        ([(CAUSAL, 1.5), (CAUSAL, -0.5)], "must be positive"),
        ([({}, 1.0)], "has a class_path"),
        ([({"class_path": "os.system"}, 1.0)], "os.system is not imported"),
        ([({"class_path": "objectives.Vocabulary"}, 1.0)], "is not an objective"),
        ([({"class_path": "objectives.Phased", "init_args": {"phases": []}}, 1.0)], "list them all"),
        ([({"class_path": "objectives.MLM"}, 1.0)], "needs corruption among its init_args"),
        ([({"class_path": "objectives.CLM", "init_args": {"rate": 0.1}}, 1.0)], "has no rate of its own"),
        ([({"class_path": "objectives.CLM", "init_args": {"seed": 1}}, 1.0)], "what all phases share"),
        ([(masked(1.5), 1.0)], "mask rate"),
        ([(masked("much"), 1.0)], "objectives.MLM does not take"),
    ],
)
def test_what_is_no_sequence_of_objectives_is_refused_in_words(phases, words):
    with pytest.raises(ValueError, match=words):
        phased(*phases)


@pytest.mark.parametrize("changes", [{"optimizer_state": "new"}, {"schedule": "twice"}])
def test_other_words_are_refused(changes):
    with pytest.raises(ValueError, match="carried or fresh, schedule whole or phase"):
        phased((CAUSAL, 1.0), **changes)


class Weighty(CLM):
    def __init__(self, **shared):
        super().__init__(**shared)
        self.more = torch.nn.Linear(2, 2)


def test_an_objective_with_weights_of_its_own_is_refused():
    allow_imports([__name__])
    with pytest.raises(ValueError, match=r"has weights besides the encoder \(more.weight\)"):
        phased(({"class_path": f"{__name__}.Weighty"}, 1.0))


def rates(objective, per_step, steps):
    module = attached(objective)
    return [module.rate_of_step(step, objective.budget_tokens(32), per_step) for step in range(steps)]


@pytest.mark.parametrize("warmup", [None, 200])
def test_the_learning_rate_goes_over_the_budget_or_over_each_phase(warmup):
    """1,000 tokens in steps of 100: phases of 300 and 700 are those of budgets of 300 and 700."""
    optimizer = OptimizerConfig(warmup_tokens=warmup)
    phases = ((CAUSAL, 0.3), (masked(0.2), 0.7))
    whole = phased(*phases, optimizer=optimizer, budget=Budget(tokens=1000))
    anew = phased(*phases, optimizer=optimizer, budget=Budget(tokens=1000), schedule="phase")
    assert rates(whole, 100, 10) == [optimizer.rate(tokens, 1000) for tokens in range(100, 1100, 100)]
    expected = [optimizer.rate(tokens, 300) for tokens in range(100, 400, 100)]
    expected += [optimizer.rate(tokens, 700) for tokens in range(100, 800, 100)]
    assert rates(anew, 100, 10) == expected
    assert expected[2] < expected[4]


@pytest.mark.parametrize(("state", "expected"), [("carried", [1, 2, 3, 4, 5]), ("fresh", [1, 2, 3, 1, 2])])
def test_a_fresh_optimiser_begins_anew_at_the_first_step_of_a_phase(state, expected):
    """AdamW counts its steps. With two micro-batches a step: its state is emptied before the first is taken."""
    objective = phased((CAUSAL, 0.6), (masked(0.3), 0.4), optimizer_state=state, budget=Budget(tokens=5 * 2 * 256))
    module = attached(objective, accumulate=2)
    optimizer = module.configure_optimizers()
    module.trainer.optimizers.append(optimizer)
    counts = []
    for number in range(10):
        batch = make_batch(blocks=8, seed=number)
        module.on_train_batch_start(batch, number)
        module.training_step(batch, number).backward()
        if number % 2:
            optimizer.step()
            optimizer.zero_grad()
            module.trainer.global_step += 1
            counts.append({int(one["step"]) for one in optimizer.state.values()})
    assert counts == [{count} for count in expected]


def test_the_targets_of_a_step_are_those_of_its_phase():
    objective = phased((CAUSAL, 0.5), (masked(0.2), 0.5), budget=Budget(tokens=4 * 256))
    module = attached(objective)
    totals = []
    for step in range(4):
        module.trainer.global_step = step
        module.training_step(make_batch(blocks=8), 0)
        totals.append(module.ledger.compute())
    assert [one["selected"] > 0 for one in totals] == [False, False, True, True]
