"""One thread a process: the tests run in two processes on two cores, where more threads would wait for each other."""

import os
from collections.abc import Iterator
from typing import Any

import pytest

# Before torch is imported, here and in what tests start.
os.environ.setdefault("OMP_NUM_THREADS", "1")


class Graphs(list[Any]):
    """A backend of torch.compile that keeps what it is given and runs it as it is: it needs no C++ compiler."""

    def __call__(self, graph: Any, inputs: Any) -> Any:
        self.append(graph)
        return graph.forward


@pytest.fixture
def graphs(monkeypatch: pytest.MonkeyPatch) -> Iterator[Graphs]:
    """What is compiled; nothing is kept from test to test."""
    import torch  # after the environment is set

    found, compiled = Graphs(), torch.nn.Module.compile
    monkeypatch.setattr(torch.nn.Module, "compile", lambda self, **options: compiled(self, backend=found, **options))
    torch.compiler.reset()
    yield found
    torch.compiler.reset()
