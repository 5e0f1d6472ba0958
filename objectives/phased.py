"""Objectives in sequence: each has a share of the budget, and all train one encoder.

B blocks, T positions.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from itertools import pairwise
from typing import Any, Literal, NamedTuple

from torch import Tensor

from objectives.base import Objective
from objectives.construction.class_paths import import_object
from objectives.construction.identity import CLASS_PATH, REQUIRED, SETTINGS, build_arguments, constructor_parameters
from objectives.settings import SharedSettings
from objectives.training.randomness import Key
from objectives.traits import Traits
from objectives.view import View

DIGITS = 12
"""To which ends of phases are rounded, so that 0.1 and 0.2 end at 0.3."""


@dataclass(frozen=True)
class Phase:
    """An objective, and the share of the budget that it trains for."""

    objective: dict[str, Any]
    """Its class_path, and as init_args the settings of its own; those that all objectives share are the run's."""
    share: float
    """Share of the budget; those of all phases sum to 1."""


class Phased(Objective):
    """One objective after the other (Gisserot-Boukhlef et al. 2025, arXiv:2507.00994: CLM, then MLM).

    A phase's views are those of its objective, to which the phase is the whole budget: what changes over the budget
    changes over the phase. Evaluation asks the question of the last phase, at every snapshot.

    Args:
        phases: the objectives in their order, each with its share of the budget.
        optimizer_state: carried keeps AdamW's moments from phase to phase; fresh empties them where one begins.
        schedule: whole has one warm-up and decay of the learning rate over the budget, phase has them in each phase.
        shared: the fields of SharedSettings.

    Raises:
        ValueError: when a share is not positive, they do not sum to 1, or a phase's objective cannot be made.
    """

    def __init__(
        self,
        phases: list[Phase],
        optimizer_state: Literal["carried", "fresh"] = "carried",
        schedule: Literal["whole", "phase"] = "whole",
        **shared: Any,
    ) -> None:
        super().__init__(**shared)
        shares = [phase.share for phase in phases]
        if not phases or min(shares) <= 0 or not math.isclose(math.fsum(shares), 1, abs_tol=1e-9):
            raise ValueError(f"the shares of phases must be positive and sum to 1, but are {shares}")
        if optimizer_state not in ("carried", "fresh") or schedule not in ("whole", "phase"):
            raise ValueError(
                f"optimizer_state is carried or fresh, schedule whole or phase: {optimizer_state!r}, {schedule!r}"
            )
        self.phases, self.optimizer_state, self.schedule = phases, optimizer_state, schedule
        # In a tuple they are no submodules: the state is that of any other objective.
        self._objectives = tuple(_lent(phase.objective, self.shared) for phase in phases)
        self._bounds = [round(math.fsum(shares[:count]), DIGITS) for count in range(len(shares))] + [1.0]

    @property
    def traits(self) -> Traits:
        names = [objective.traits.name for objective in self._objectives]
        return replace(
            self._objectives[-1].traits,
            name=type(self).__name__,
            numeric={f"share of {names[0]}": self.phases[0].share} if len(names) == 2 else {},
            categorical={"phases": " → ".join(names)},
        )

    @property
    def switches(self) -> tuple[float, ...]:
        own = self._bounds[1:-1]
        within = (
            start + (end - start) * switch
            for objective, (start, end) in zip(self._objectives, pairwise(self._bounds), strict=True)
            for switch in objective.switches
        )
        return tuple(sorted({*own, *within}))

    @property
    def optimizer_resets(self) -> tuple[float, ...]:
        return tuple(self._bounds[1:-1]) if self.optimizer_state == "fresh" else ()

    @property
    def schedule_restarts(self) -> tuple[float, ...]:
        return tuple(self._bounds[1:-1]) if self.schedule == "phase" else ()

    def densities(self, spent: float) -> tuple[float, ...]:
        objective, of_phase = self._at(spent)
        return objective.densities(of_phase)

    def nominal_weight(self, spent: float) -> float:
        objective, of_phase = self._at(spent)
        return objective.nominal_weight(of_phase)

    def views(self, tokens_BT: Tensor, key: Key) -> tuple[View, ...]:
        objective, of_phase = self._at(key.spent)
        return objective.views(tokens_BT, key._replace(spent=of_phase))

    def _at(self, spent: float) -> _Place:
        """The phase when a share `spent` of the budget has been read; its end belongs to the next one."""
        number = sum(spent >= end for end in self._bounds[1:-1])
        start, end = self._bounds[number : number + 2]
        return _Place(self._objectives[number], min(1.0, (spent - start) / (end - start)))


class _Place(NamedTuple):
    """An objective, and the share of its phase that has been read."""

    objective: Objective
    spent: float


def _lent(described: dict[str, Any], shared: SharedSettings) -> Objective:
    """The objective of a phase, for its views and for what it says of itself; its encoder is as small as can be, and
    nobody's. Raises ValueError when it cannot be made."""
    if not (CLASS_PATH in described and described.keys() <= {CLASS_PATH, SETTINGS}):
        raise ValueError(f"the objective of a phase has a {CLASS_PATH} and {SETTINGS}, but this one is {described}")
    path, settings = described[CLASS_PATH], described.get(SETTINGS) or {}
    cls = import_object(path)
    if not (isinstance(cls, type) and issubclass(cls, Objective)):
        raise ValueError(f"{path} is not an objective, so it cannot be that of a phase")
    if issubclass(cls, Phased):
        raise ValueError("a phase cannot have phases itself; list them all")
    of_all = {field.name: getattr(shared, field.name) for field in fields(shared)}
    parameters = constructor_parameters(cls)
    if wrong := sorted((settings.keys() - parameters.keys()) | (settings.keys() & of_all.keys())):
        raise ValueError(f"{path} has no {', '.join(wrong)} of its own; what all phases share is set beside phases")
    required = {name for name, parameter in parameters.items() if parameter.default is REQUIRED}
    if lacking := sorted(required - settings.keys() - of_all.keys()):
        raise ValueError(f"the phase of {path} needs {', '.join(lacking)} among its {SETTINGS}; {{}} has its defaults")
    of_all["encoder"] = replace(shared.encoder, width=2, depth=1, heads=1)
    try:
        objective = cls(**build_arguments(cls, settings), **of_all)
    except TypeError as error:
        raise ValueError(f"{path} does not take {settings}: {error}") from error
    if own := [name for name in objective.state_dict() if not name.startswith("encoder.")]:
        raise ValueError(f"{path} has weights besides the encoder ({own[0]}), which phases do not share")
    return objective
