"""A few of the trials of tests/support/stress.py; `python -m tests.support.stress` makes more."""

import pytest

from tests.support.stress import COMMANDS, stress


@pytest.mark.slow
def test_kills_and_errors_change_nothing():
    found = stress(kills=len(COMMANDS), errors=len(COMMANDS))
    assert not found.failures, "\n".join(found.failures)
    assert sum(found.seen.values()) - found.seen["nowhere"] >= 6, "most trials have to hit something"
