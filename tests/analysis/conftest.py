from pathlib import Path

import pytest

from tests.support.grids import GridBuilder, write_pair, write_two_languages


@pytest.fixture
def builder(tmp_path: Path) -> GridBuilder:
    return GridBuilder(tmp_path / "grid")


@pytest.fixture(scope="session")
def pair_grid(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished grid of two arms and three seeds, for tests that only read it."""
    return write_pair(GridBuilder(tmp_path_factory.mktemp("pair") / "grid"))


@pytest.fixture(scope="session")
def two_languages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished grid of two arms on each of two languages, for tests that only read it."""
    return write_two_languages(GridBuilder(tmp_path_factory.mktemp("two") / "grid"))
