from pathlib import Path

import pytest

from analysis.records.read_results import read_results
from analysis.records.results import Results
from tests.support.grids import (
    CLM,
    MLM,
    PREFIX,
    GridBuilder,
    falling,
    masked,
    on_known_rules,
    on_text,
    rising,
    write_pair,
    write_two_data_groups,
)


@pytest.fixture
def builder(tmp_path: Path) -> GridBuilder:
    return GridBuilder(tmp_path / "grid")


@pytest.fixture(scope="session")
def pair_grid(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished grid of two arms and three seeds, for tests that only read it."""
    return write_pair(GridBuilder(tmp_path_factory.mktemp("pair") / "grid"))


@pytest.fixture(scope="session")
def two_data_groups(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished grid of two arms in each of two data groups, for tests that only read it."""
    return write_two_data_groups(GridBuilder(tmp_path_factory.mktemp("two") / "grid"))


@pytest.fixture(scope="session")
def known_rules(two_data_groups: Path) -> Results:
    """Its data group on a language with known rules."""
    return read_results(two_data_groups).data_groups[0]


@pytest.fixture
def three_objectives(builder: GridBuilder) -> Results:
    """Five arms: a causal one, three mask rates, and a third objective."""
    for rate in (0.3, 0.15, 0.5):
        builder.run(on_text(masked(rate, arm=f"mlm-{rate}"), 9_000), 0)
    builder.run(on_text(CLM, 9_000), 0)
    builder.run(on_text(PREFIX, 9_000), 0)
    return read_results(builder.finish())


@pytest.fixture
def power_laws(builder: GridBuilder) -> Results:
    """Two arms whose excess losses are powers of the tokens read, three seeds each."""
    for seed in range(3):
        builder.run(on_known_rules(CLM, falling(20), 3.4, rising(0.5, 0.78, 2_000)), seed)
        builder.run(on_known_rules(MLM, falling(40), 2.9, rising(0.5, 0.86, 4_000)), seed)
    return read_results(builder.finish())
