from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from objectives import (
    MLM,
    Corruption,
    Drawn,
    ExactCount,
    Hybrid,
    MaskedNextToken,
    Objective,
    Phase,
    Phased,
    PrefixLM,
    Scheduled,
    Spans,
    Words,
)
from objectives.construction.class_paths import allow_imports, import_object
from tests.support.objectives import EXAMPLES, all_objectives, build

allow_imports([EXAMPLES])
OWN = import_object(f"{EXAMPLES}.own_selection.Spaced")
CAUSAL = {"class_path": "objectives.CLM"}
MASKED = {
    "class_path": "objectives.MLM",
    "init_args": {"corruption": {"rate": 0.3, "selection": {"class_path": "objectives.ExactCount"}}},
}
BOTH = {"class_path": f"{EXAMPLES}.two_views.TwoViews", "init_args": {"corruption": {}}}
VARIANTS = {
    "MLM own selection": (MLM, {"corruption": Corruption(selection=OWN())}),
    "MLM spans": (MLM, {"corruption": Corruption(selection=Spans())}),
    "MLM words": (MLM, {"corruption": Corruption(selection=Words())}),
    "MLM exact count": (MLM, {"corruption": Corruption(selection=ExactCount())}),
    "MLM scheduled rate": (MLM, {"corruption": Corruption(Scheduled(0.3, 0.15))}),
    "MLM drawn rate": (MLM, {"corruption": Corruption(Drawn(0.0, 1.0), 1, 0, 0)}),
    "MLM few predicted": (MLM, {"corruption": Corruption(0.4), "prediction_rate": 0.15}),
    "MLM all tokens": (MLM, {"prediction_rate": 1.0}),
    "PrefixLM short": (PrefixLM, {"longest": 0.25}),
    "MaskedNextToken exact count": (MaskedNextToken, {"corruption": Corruption(selection=ExactCount())}),
    "Hybrid all causal": (Hybrid, {"causal": 1.0}),
    "Hybrid all masked": (Hybrid, {"causal": 0.0}),
    "Hybrid scheduled": (Hybrid, {"causal": Scheduled(1.0, 0.0)}),
    "Phased CLM to MLM": (Phased, {"phases": [Phase(CAUSAL, 0.25), Phase(MASKED, 0.75)]}),
    "Phased MLM to CLM": (Phased, {"phases": [Phase(MASKED, 0.5), Phase(CAUSAL, 0.5)], "optimizer_state": "fresh"}),
    "Phased two views": (Phased, {"phases": [Phase(CAUSAL, 0.3), Phase(BOTH, 0.7)], "schedule": "phase"}),
}
CASES = {cls.__name__: (cls, {}) for cls in all_objectives()} | VARIANTS


@pytest.fixture
def cases() -> dict[str, tuple[type[Objective], dict[str, Any]]]:
    """Class and settings of each case."""
    return CASES


@pytest.fixture(params=CASES)
def make(request: pytest.FixtureRequest) -> Callable[..., Objective]:
    """Builds the objective of a case, with changes of settings."""
    cls, changes = CASES[request.param]
    return partial(build, cls, **changes)


@pytest.fixture
def objective(make: Callable[..., Objective]) -> Objective:
    return make()
