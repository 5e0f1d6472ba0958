"""What a snapshot is measured by, all together."""

from dataclasses import dataclass, replace

import pytest
import torch

from experiments.corpora import LocalText
from experiments.data import TextData
from experiments.evaluation.evaluation import DEFAULT_METRICS, Evaluation, EvaluationConfig, build_metric
from experiments.evaluation.metric import SharedMetric
from experiments.records.metrics_file import Row
from experiments.records.proof import without_unproven
from experiments.records.quantities import (
    Declarations,
    Quantity,
    read_declarations,
    write_declarations,
)
from experiments.text.tokenizer import TokenizerConfig
from objectives import CLM, MLM, Corruption, Hybrid, MaskedNextToken
from objectives.construction.class_paths import allow_imports
from tests.support.known_rules import make_data
from tests.support.objectives import build
from tests.support.tiny import write_text

allow_imports([__name__])


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    corpus = LocalText(str(write_text(folder / "text.txt")), validation=0.2)
    data = TextData(corpus, TokenizerConfig("bpe", 300), 16, 4, validation_blocks=8, root=str(folder / "packed"))
    data.prepare_data()
    return data


def objective_for(data, cls, **changes):
    return build(cls, vocabulary=data.vocabulary, **changes)


OURS = "experiments.evaluation"


def metric(name, **settings):
    return {"class_path": f"{OURS}.{name}", "init_args": settings}


def measured(objective, data, *metrics):
    return Evaluation(data, metrics).measure(objective, Declarations(), 1)[0]


@pytest.mark.parametrize("cls", [MLM, MaskedNextToken])
def test_every_run_has_the_same_targets_and_nothing_is_drawn(data, cls):
    metrics = metric("ValidationLoss"), metric("Cloze", rates=(0.15, 0.3)), metric("WordSwap", pairs=5)
    model = objective_for(data, cls)
    state = torch.get_rng_state()
    first = measured(model, data, *metrics)
    assert torch.equal(torch.get_rng_state(), state)
    assert measured(model, data, *metrics) == first
    assert first["validation/loss"] == pytest.approx(first["cloze/0.15/loss"], rel=1e-6)
    model.shared = replace(model.shared, seed=99)  # another run's seed does not change the targets
    assert measured(model, data, *metrics) == first
    assert {"cloze/0.15/loss", "cloze/0.3/loss", "word_swap/accuracy"} <= first.keys()


def test_common_rates_do_not_depend_on_the_runs_own_corruption(data):
    own = {
        rate: measured(
            objective_for(data, MLM, corruption=Corruption(rate, 1, 0, 0)),
            data,
            metric("ValidationLoss"),
            metric("Cloze"),
        )
        for rate in (0.2, 0.6)
    }
    assert own[0.2]["cloze/0.3/loss"] == own[0.6]["cloze/0.3/loss"]
    assert own[0.2]["validation/loss"] != own[0.6]["validation/loss"]
    assert own[0.2]["validation/density"] < own[0.6]["validation/density"]


def test_causal_runs_fill_no_masks_and_the_records_say_why(data):
    values, declared = Evaluation(data, [metric("Cloze")]).measure(objective_for(data, CLM), Declarations(), 64)
    assert values == {}
    (record,) = declared.metrics
    assert record.not_measured == "CLM does not predict what [MASK] hides" and list(record.measured_at) == [64]


def test_untrained_models_are_above_the_bayes_loss_and_below_the_bayes_accuracies():
    data = make_data()
    metrics = [
        *DEFAULT_METRICS[:1],
        metric("Cloze", rates=(0.15,)),
        *DEFAULT_METRICS[2:-1],
        metric("WordSwap", pairs=3),
    ]
    for cls in (CLM, MLM, MaskedNextToken, Hybrid):
        values = measured(build(cls, vocabulary=data.vocabulary), data, *metrics)
        assert values["validation/excess_loss"] > 5 * values["validation/excess_loss_standard_error"] > 0
        assert values["validation/loss"] == pytest.approx(
            values["validation/bayes_loss"] + values["validation/excess_loss"]
        )
        token, past, both = (values[f"probe/states/bayes_accuracy_{view}"] for view in ("token", "past", "both"))
        assert values["probe/states/majority_accuracy"] < token < past < both < 1
        assert 0 <= values["word_swap/accuracy"] <= 1
        assert ("cloze/0.15/excess_loss" in values) == (cls is not CLM)


def test_all_that_is_measured_is_declared_and_refers_to_what_is_declared(data):
    for source in (data, make_data()):
        evaluation = Evaluation(source, [*DEFAULT_METRICS[:-1], metric("WordSwap", pairs=3, longest_sentence=16)])
        values, declared = evaluation.measure(build(MLM, vocabulary=source.vocabulary), Declarations(), 64)
        assert values.keys() <= declared.quantities.keys()
        for name, quantity in declared.quantities.items():
            assert name == quantity.name and quantity.label and quantity.unit
            assert {quantity.level_of, quantity.standard_error} - {""} <= declared.quantities.keys()
            assert not quantity.comparable or quantity.description
            if quantity.comparable or quantity.level_of:
                assert quantity.standard_error and (quantity.standard_error in values) == (name in values)


def test_what_parts_of_the_items_add_is_recorded_at_each_snapshot_and_forgotten_with_it(tmp_path):
    data, metrics = make_data(validation_blocks=64), [metric("ValidationLoss"), metric("LinearProbe")]
    model, evaluation = build(CLM, vocabulary=data.vocabulary), Evaluation(data, metrics)
    values, declared = evaluation.measure(model, Declarations(), 64)
    _, declared = evaluation.measure(model, declared, 128)
    assert all(type(value) is float for value in values.values())
    write_declarations(tmp_path, declared)
    (losses, probes) = read_declarations(tmp_path).metrics
    for name in ("validation/loss", "validation/accuracy", "validation/bayes_loss", "validation/excess_loss"):
        first, second = losses.parts[name]["64"], losses.parts[name]["128"]
        assert first == second and sum(first) == pytest.approx(0, abs=1e-4)
        assert (sum(part**2 for part in first) * 20 / 19) ** 0.5 == pytest.approx(
            values[f"{name}_standard_error"], rel=0.6
        )
    loss, bayes, excess = (losses.parts[f"validation/{name}loss"]["64"] for name in ("", "bayes_", "excess_"))
    assert [one - other for one, other in zip(loss, bayes, strict=True)] == pytest.approx(excess, abs=1e-5)
    assert set(probes.parts) <= {"probe/states/accuracy", "probe/states/macro_f1"}
    at_64 = [row for row in metrics_rows(values, losses.quantities) if row.tokens == 64]
    (losses, probes) = without_unproven(at_64, read_declarations(tmp_path)).metrics
    assert all(list(by) == ["64"] for by in losses.parts.values()) and not any(probes.parts.values())


class Counted(SharedMetric):
    """A metric that counts how often it has measured, and says what it is told."""

    calls = 0

    def __init__(self, name: str = "mine/score", says: str = "mine/score") -> None:
        self.name, self.says = name, says

    def quantities(self):
        return [Quantity(self.name, "mine", "score", better="higher", comparable="all")]

    def measure(self, objective):
        type(self).calls += 1
        return {self.says: float(self.calls)}


class Fixed(Counted):
    constant = True


@dataclass(frozen=True)
class Bounds:
    low: float = 0.0


class Bounded(Counted):
    def __init__(self, bounds: Bounds) -> None:
        super().__init__()
        self.bounds = bounds


def test_settings_of_a_metric_may_be_dataclasses():
    plain = {"class_path": f"{__name__}.Bounded", "init_args": {"bounds": {"low": 0.5}}}
    assert build_metric(plain).bounds == Bounds(0.5)


def own(cls, **settings):
    return {"class_path": f"{__name__}.{cls.__name__}", "init_args": settings}


def test_a_snapshot_is_measured_once_and_a_constant_metric_at_the_first_one(data):
    model = objective_for(data, CLM)
    Counted.calls = Fixed.calls = 0
    evaluation = Evaluation(data, [own(Counted), own(Fixed, name="mine/level", says="mine/level")])
    values, declared = evaluation.measure(model, Declarations(), 64)
    assert values == {"mine/score": 1.0, "mine/level": 1.0}
    assert evaluation.measure(model, declared, 64) == ({}, declared)
    values, declared = evaluation.measure(model, declared, 128)
    assert values == {"mine/score": 2.0}
    assert {one.class_path.rpartition(".")[2]: tuple(one.measured_at) for one in declared.metrics} == {
        "Counted": (64, 128),
        "Fixed": (64,),
    }


def test_what_was_measured_in_another_way_leaves_the_declarations(data):
    model = objective_for(data, CLM)
    few, many = (Evaluation(data, [metric("WordSwap", pairs=pairs)]) for pairs in (3, 6))
    _, declared = few.measure(model, Declarations(), 64)
    values, declared = many.measure(model, declared, 64)
    assert "word_swap/accuracy" in values
    (record,) = declared.metrics
    assert record.init_args == {"pairs": 6} and "6 pairs" in declared.quantities["word_swap/accuracy"].description
    elsewhere = Evaluation(data, [metric("WordSwap", pairs=6)], {"validation_blocks": 3})
    assert elsewhere.measure(model, declared, 64)[0]  # on other blocks it is another measurement


def metrics_rows(values, names):
    """The rows of some quantities at 64 tokens, beside one that training recorded there."""
    found = {"ledger/targets": 10.0, **{name: value for name, value in values.items() if name in names}}
    return [Row(1, 64, 10, 1.0, 1.0, name, float(value)) for name, value in found.items()]


@pytest.mark.parametrize(
    ("metrics", "message"),
    [
        ([own(Counted), own(Counted, says="x")], "both declare the quantity mine/score"),
        ([{"class_path": "objectives.CLM"}], "objectives.CLM is not a SharedMetric"),
        ([metric("Cloze", rates=(1.5,))], r"\(0, 1\]"),
        ([metric("Cloze", rates=())], "at least one"),
        ([metric("WordSwap", pairs=0)], "at least 1 pair"),
    ],
)
def test_bad_metrics_are_refused(data, metrics, message):
    with pytest.raises(ValueError, match=message):
        Evaluation(data, metrics)


def test_a_quantity_that_was_not_declared_is_refused(data):
    evaluation = Evaluation(data, [own(Counted, says="mine/other")])
    with pytest.raises(ValueError, match="Counted measures mine/other without declaring it"):
        evaluation.measure(objective_for(data, CLM), Declarations(), 1)


def test_bad_evaluations_are_refused():
    with pytest.raises(ValueError, match="snapshots must be from 1 to"):
        EvaluationConfig(snapshots=0)
