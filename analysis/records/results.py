"""What a grid has recorded so far: its runs by arm, its data groups, and what an arm is compared with."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from analysis.records.data_groups import group_by_data
from analysis.records.references import References, find_references
from analysis.records.run_records import Arm, RunRecords
from experiments.records.quantities import Quantity


@dataclass(frozen=True)
class Results:
    """Every planned run of a grid, or of one of its data groups, by arm in the order planned."""

    directory: Path
    title: str
    reference_name: str | None
    """The arm or the level that the grid names as the reference."""
    arms: tuple[Arm, ...]
    group_name: str = ""
    """The data, when these are the results of one data group among several."""
    whole: Results | None = None
    """The results of all data groups, when these are those of one."""
    left_out: tuple[str, ...] = ()
    """Runs so damaged that not even their arm is known, each with the reason."""

    @cached_property
    def data_groups(self) -> list[Results]:
        """The results of each data group; these results themselves where all arms read the same data."""
        groups = group_by_data(self.arms)
        if self.whole is not None or len(groups) < 2:
            return [self]
        short = {name: shorter for group in groups for name, shorter in group.short_names.items()}
        named = short.get(self.reference_name or "", self.reference_name)
        return [Results(self.directory, self.title, named, group.arms, group.name, self) for group in groups]

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
    def quantities(self) -> list[Quantity]:
        """What was recorded, in the order declared; of several declarations the first counts."""
        declared: dict[str, Quantity] = {}
        for run in self.runs:
            for name, quantity in run.declared.quantities.items():
                if name in run.series:
                    declared.setdefault(name, quantity)
        return list(declared.values())

    @property
    def shared_metrics(self) -> list[Quantity]:
        """What all arms on the same data can be compared by; first those on a log scale, distances to the possible."""
        found = [quantity for quantity in self.quantities if quantity.comparable == "all"]
        return sorted(found, key=lambda quantity: quantity.scale != "log")

    @property
    def headline_metrics(self) -> list[Quantity]:
        """The shared metrics that the summary and the overview speak of."""
        return [quantity for quantity in self.shared_metrics if quantity.headline]

    @property
    def own_scores(self) -> list[Quantity]:
        """What only arms whose own losses ask the same question can be compared by."""
        return [quantity for quantity in self.quantities if quantity.comparable == "question"]

    def answered_by_all(self, quantity: Quantity) -> bool:
        """Whether every arm of which a shared metric has been measured has recorded this one."""
        measured = (arm for arm in self.arms if any(map(arm.recorded, self.shared_metrics)))
        return all(arm.recorded(quantity) for arm in measured)

    @cached_property
    def references(self) -> References:
        """Which arm of a data group is compared with which."""
        return find_references(self.arms, self.reference_name)

    def reference(self, arm: Arm) -> Arm | None:
        """What an arm is compared with."""
        return self.references.of(arm)
