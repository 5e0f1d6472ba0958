import pytest

from objectives import (
    MLM,
    Corruption,
    Drawn,
    ExactCount,
    Hybrid,
    MaskedNextToken,
    Objective,
    PrefixLM,
    Scheduled,
    Spans,
    Words,
)
from objectives.class_paths import allow_imports, import_object
from tests.support.objectives import EXAMPLES, all_objectives, build

allow_imports([EXAMPLES])
OWN = import_object(f"{EXAMPLES}.own_selection.Spaced")
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
}
CASES = {cls.__name__: (cls, {}) for cls in all_objectives()} | VARIANTS


@pytest.fixture(params=CASES)
def objective(request: pytest.FixtureRequest) -> Objective:
    cls, changes = CASES[request.param]
    return build(cls, **changes)
