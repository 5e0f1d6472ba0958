import pytest

from objectives import MLM, Corruption, Objective
from objectives.identity import import_object
from tests.support.objectives import EXAMPLES, all_objectives, build

OWN_SELECTION = Corruption(selection=import_object(f"{EXAMPLES}.own_selection.Spans")())
CASES = {cls.__name__: (cls, {}) for cls in all_objectives()} | {"MLM spans": (MLM, {"corruption": OWN_SELECTION})}


@pytest.fixture(params=CASES)
def objective(request: pytest.FixtureRequest) -> Objective:
    cls, changes = CASES[request.param]
    return build(cls, **changes)
