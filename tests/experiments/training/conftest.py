from pathlib import Path

import pytest

from tests.support.tiny import write_text


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A text file that tests only read."""
    return write_text(tmp_path_factory.mktemp("text") / "text.txt")
