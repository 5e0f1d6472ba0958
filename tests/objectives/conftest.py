import pytest

from objectives import Objective
from tests.support.objectives import all_objectives, build


@pytest.fixture(params=all_objectives(), ids=lambda cls: cls.__name__)
def objective(request: pytest.FixtureRequest) -> Objective:
    return build(request.param)
