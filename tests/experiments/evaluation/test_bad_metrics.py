"""A metric of a user's that fails is named, with the place and what to do; nothing else is taken for its fault."""

import math

import pytest

from experiments.evaluation.evaluation import Evaluation, EvaluationConfig, MetricFailed
from experiments.evaluation.metric import SharedMetric
from experiments.records.quantities import Declarations, Quantity
from objectives.construction.class_paths import allow_imports

allow_imports([__name__])


class Good(SharedMetric):
    def quantities(self):
        return [Quantity("my/score", "my score", "units")]

    def measure(self, objective):
        return {"my/score": 1.0}


class Raises(Good):
    def measure(self, objective):
        raise KeyError("boom")


class RaisesEarly(Good):
    def prepare(self, data):
        raise RuntimeError("boom")


class Nothing(Good):
    def measure(self, objective):
        return None


class Words(Good):
    def measure(self, objective):
        return {"my/score": "high"}


class Undeclared(Good):
    def measure(self, objective):
        return {"my/other": 1.0}


class NoQuantity(Good):
    def quantities(self):
        return ["my/score"]


class Twice(Good):
    def quantities(self):
        return [*super().quantities(), Quantity("my/score", "another", "units")]


class NotANumber(Good):
    def measure(self, objective):
        return {"my/score": math.nan}


def plain(cls):
    return {"class_path": f"{__name__}.{cls.__name__}"}


def measured(*classes, reserved=()):
    evaluation = Evaluation(None, [plain(cls) for cls in classes], reserved=reserved)
    return evaluation.measure(None, Declarations(), 10)


@pytest.mark.parametrize("cls", [Raises, RaisesEarly, Nothing, Words, NoQuantity])
def test_what_a_metric_raises_names_it_and_the_place(cls):
    with pytest.raises(MetricFailed, match=rf"{cls.__name__} raised \w+: .*line \d+\); correct it, or leave it out"):
        measured(cls)


def test_broken_contracts_are_named():
    with pytest.raises(MetricFailed, match="Undeclared measures my/other without declaring it; add it"):
        measured(Undeclared)
    with pytest.raises(ValueError, match="Twice declares two quantities of one name"):
        measured(Twice)
    with pytest.raises(ValueError, match="declares the quantity my/score, which training records itself"):
        measured(Good, reserved=("my/score",))


def test_what_is_no_number_is_recorded_as_such():
    values, declared = measured(NotANumber)
    assert math.isnan(values["my/score"]) and list(declared.metrics[0].measured_at) == [10]


@pytest.mark.parametrize("metrics, reason", [(None, "is null"), ([plain(Good), plain(Good)], "Good twice")])
def test_a_list_of_metrics_that_is_none_or_names_one_twice_is_refused_before_anything_is_made(metrics, reason):
    with pytest.raises(ValueError, match=reason):
        EvaluationConfig.from_plain({"metrics": metrics})


@pytest.mark.parametrize("name", ["", "a,b", 'a"b', "a\nb", "a" * 200])
def test_a_name_that_would_damage_the_records_is_refused(name):
    with pytest.raises(ValueError, match="one line of at most 120 letters without commas"):
        Quantity(name, "label", "units")


@pytest.mark.parametrize("level", ["chance", "best"])
def test_a_level_that_is_not_finite_is_refused(level):
    with pytest.raises(ValueError, match=f"{level} of quantity my/score must be a finite number"):
        Quantity("my/score", "label", "units", **{level: math.inf})
