import pytest

from objectives import MLM, Corruption, Objective
from objectives.class_paths import allow_imports, import_object
from tests.support.objectives import EXAMPLES, all_objectives, build

allow_imports([EXAMPLES])
OWN_SELECTION = Corruption(selection=import_object(f"{EXAMPLES}.own_selection.Spans")())
CASES = {cls.__name__: (cls, {}) for cls in all_objectives()} | {"MLM spans": (MLM, {"corruption": OWN_SELECTION})}


@pytest.fixture(params=CASES)
def objective(request: pytest.FixtureRequest) -> Objective:
    cls, changes = CASES[request.param]
    return build(cls, **changes)
