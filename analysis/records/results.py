"""What a grid has recorded so far: its runs by arm, its data groups, and what an arm may be compared with."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from analysis.records.data_groups import group_by_data
from analysis.records.quantities import (
    IMBALANCED,
    WORD_SWAP,
    WORD_SWAP_CHANCE,
    is_probe_score,
    probe_quantity,
    probe_task,
    shared_metrics,
)
from analysis.records.run_records import Arm, RunRecords


@dataclass(frozen=True)
class Results:
    """Every planned run of a grid, or of one of its data groups, by arm in the order planned."""

    directory: Path
    title: str
    baseline_name: str | None
    arms: tuple[Arm, ...]
    group_name: str = ""
    """The data, when these are the results of one data group among several."""
    whole: Results | None = None
    """The results of all data groups, when these are those of one."""

    @cached_property
    def data_groups(self) -> list[Results]:
        """The results of each data group; these results themselves where all arms read the same data."""
        groups = group_by_data(self.arms)
        if self.whole is not None or len(groups) < 2:
            return [self]
        named = self.baseline_name
        return [
            Results(
                self.directory, self.title, g.short_names.get(named, named) if named else None, g.arms, g.name, self
            )
            for g in groups
        ]

    @property
    def prefix(self) -> str:
        """What stands before a sentence that is about one data group."""
        return f"{self.group_name}: " if self.group_name else ""

    @property
    def runs(self) -> list[RunRecords]:
        return [run for arm in self.arms for run in arm.runs]

    @property
    def recorded(self) -> list[RunRecords]:
        """The runs that have at least one row."""
        return [run for run in self.runs if run.series]

    @cached_property
    def quantities(self) -> list[str]:
        return sorted({quantity for run in self.runs for quantity in run.series})

    @property
    def shared_metrics(self) -> list[str]:
        return shared_metrics(self.quantities)

    @property
    def main_metrics(self) -> list[str]:
        """The shared metrics, one a probe: accuracy, or macro F1 when the majority class is IMBALANCED or more."""
        found = self.shared_metrics
        left_out = set()
        for task in {probe_task(q) for q in found if is_probe_score(q)}:
            accuracy, macro_f1 = probe_quantity(task, "accuracy"), probe_quantity(task, "macro_f1")
            majority = self.constant(probe_quantity(task, "majority_accuracy"))
            if {accuracy, macro_f1} <= set(found):
                left_out.add(accuracy if majority is not None and majority >= IMBALANCED else macro_f1)
        return [quantity for quantity in found if quantity not in left_out]

    def constant(self, quantity: str) -> float | None:
        """Mean over runs of the last value of what should not change, such as a majority accuracy."""
        found = [run.series[quantity].values for run in self.runs if quantity in run.series]
        values = [recorded[-1] for recorded in found if recorded.size]
        if len(set(values)) == 1:
            return float(values[0])
        return float(np.mean(values)) if values else None

    def chance(self, quantity: str) -> float | None:
        """The score of a model that knows nothing, where one is known: ½, or a probe's majority class."""
        if quantity == WORD_SWAP:
            return WORD_SWAP_CHANCE
        if is_probe_score(quantity) and quantity.endswith("/accuracy"):
            return self.constant(probe_quantity(probe_task(quantity), "majority_accuracy"))
        return None

    def baseline(self) -> Arm | None:
        """The 15 %, 80/10/10 arm; else the arm that the grid names."""
        named = next((arm for arm in self.arms if arm.name == self.baseline_name), None)
        return next((arm for arm in self.arms if arm.is_baseline), named)

    def reference(self, arm: Arm) -> Arm | None:
        """What an arm is compared with: the causal arm that shares most of its factors, else the baseline.

        Where causal arms have several objectives, those of the first one planned are the references.
        """
        first = next((other for other in self.arms if other.is_causal), None)
        if first is None:
            baseline = self.baseline()
            return baseline if baseline is not arm else None
        if arm.is_causal and arm.objective == first.objective:
            return None
        references = [other for other in self.arms if other.is_causal and other.objective == first.objective]
        return max(references, key=lambda other: len(arm.factors.items() & other.factors.items()))
