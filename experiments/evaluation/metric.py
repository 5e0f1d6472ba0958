"""The contract of a shared metric: it measures a snapshot, and declares what its quantities are."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

from experiments.data import BlockData
from experiments.records.quantities import Quantity
from objectives import Objective


class NotMeasured(Exception):
    """A metric says nothing of an objective; the message says why, and is recorded."""


class SharedMetric(ABC):
    """Measures any objective in the same way. A subclass is addressed by its class path; its settings are the arguments
    of its constructor. It draws no random numbers.
    """

    constant: ClassVar[bool] = False
    """True for what training does not change, such as a baseline: it is measured at the first snapshot only."""
    unrecorded: ClassVar[Mapping[str, Any]] = {}
    """Settings that records leave out where they have these values: what was measured before there were such settings
    then counts as measured in the same way."""

    def prepare(self, data: BlockData) -> None:
        """Called once, before anything else; what is read of the data is read here."""
        self.data = data

    @abstractmethod
    def quantities(self) -> list[Quantity]:
        """What it may record, on the data that it was prepared for."""

    @abstractmethod
    def measure(self, objective: Objective) -> dict[str, float]:
        """name of a quantity -> value, of an objective in its present state; all of them declared.

        Raises:
            NotMeasured: when the objective cannot be measured by it.
        """
