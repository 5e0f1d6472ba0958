"""The factors that the arms of a data group vary: traits of their objectives, and axes of the grid."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from analysis.records.references import varying_axes
from analysis.records.results import Results
from analysis.records.run_records import Arm

Setting = float | str


@dataclass(frozen=True, eq=False)
class Factor:
    """Something that arms may differ by, and the setting of each arm that has it."""

    name: str
    numeric: bool
    is_axis: bool
    """Whether it varies as an axis of the grid does; if not, it follows from one."""
    is_share: bool
    """Whether its settings are shown as per cent."""
    settings: dict[Arm, Setting]

    @property
    def slug(self) -> str:
        """As a part of file names."""
        return "".join(c if c.isalnum() or c in ".-" else "_" for c in self.name)

    @property
    def levels(self) -> list[Setting]:
        """Its settings: numbers in order, others as planned."""
        found = list(dict.fromkeys(self.settings.values()))
        return sorted(found) if self.numeric else found

    def text(self, setting: Setting | None) -> str:
        """A setting in words; that of an arm without the factor is `no <name>`."""
        if setting is None:
            return f"no {self.name}"
        if isinstance(setting, str):
            return setting
        return f"{100 * setting:g} %" if self.is_share else f"{setting:g}"

    def determines(self, other: Factor) -> bool:
        """Whether each of its settings goes with one setting of another factor, in all arms that have the other."""
        found: dict[Setting | None, set[Setting]] = {}
        for arm, setting in other.settings.items():
            found.setdefault(self.settings.get(arm), set()).add(setting)
        return all(len(settings) == 1 for settings in found.values())


def varying_factors(group: Results) -> list[Factor]:
    """Axes in their order, then what else varies of the objectives.

    Of those that tell the same arms apart in the same way one counts: a trait rather than an axis, a number rather than
    a category.
    """
    axes, traits = _axes(group.arms), _traits(group.arms)
    found = []
    for axis in axes:
        same = [trait for trait in traits if _partition(trait) == _partition(axis)]
        found.append(replace(same[0], is_axis=True) if same else axis)
        traits = [trait for trait in traits if trait not in same]
    distinct: dict[frozenset[frozenset[Arm]], Factor] = {}
    for factor in sorted([*found, *traits], key=lambda one: (not one.is_axis, not one.numeric)):
        distinct.setdefault(_partition(factor), factor)
    return [factor for factor in (*found, *traits) if factor in distinct.values()]


def held_equal(factors: Sequence[Factor], *varied: Factor) -> list[Factor]:
    """The factors that arms must share to be compared by those varied.

    What an axis varies includes all that follows from it. A trait is compared within everything that leaves it free.
    """
    rest = [factor for factor in factors if factor not in varied]
    if all(factor.is_axis for factor in varied):
        return [factor for factor in rest if factor.is_axis]
    return [factor for factor in rest if not any(factor.determines(one) for one in varied)]


def context_of(arm: Arm, held: Sequence[Factor], among: Sequence[Arm]) -> str:
    """In words, the settings of the factors held equal that set an arm apart from others."""
    telling = [factor for factor in held if len({factor.settings.get(one) for one in among}) > 1]
    for factor in sorted(telling, key=lambda one: one.is_axis):
        within = replace(factor, settings={one: factor.settings.get(one, "") for one in among})
        if any(other is not factor and other.determines(within) for other in telling):
            telling.remove(factor)
    return "; ".join(_with_name(factor, factor.settings.get(arm)) for factor in telling)


def _with_name(factor: Factor, setting: Setting | None) -> str:
    named = setting is not None and factor.numeric
    return f"{factor.name} {factor.text(setting)}" if named else factor.text(setting)


def _axes(arms: Sequence[Arm]) -> list[Factor]:
    found = []
    for axis in varying_axes(arms):
        levels = {arm: arm.factors[axis] for arm in arms if axis in arm.factors}
        numbers = {arm: number for arm, level in levels.items() if (number := _number(level)) is not None}
        numeric = len(numbers) == len(levels)
        found.append(Factor(axis.replace("_", " "), numeric, True, False, {**(numbers if numeric else levels)}))
    return found


def _traits(arms: Sequence[Arm]) -> list[Factor]:
    """Numeric ones first. The numbers of a trait called a rate or a share are shares, unless one is above 1."""
    found = []
    for kind in ("numeric", "categorical"):
        traits = {arm: getattr(arm.traits, kind) for arm in arms}
        for name in dict.fromkeys(name for of_arm in traits.values() for name in of_arm):
            settings = {arm: of_arm[name] for arm, of_arm in traits.items() if name in of_arm}
            if len(set(settings.values())) > 1:
                numeric = kind == "numeric"
                is_share = numeric and bool({"rate", "share"} & {*name.split()}) and max(settings.values()) <= 1
                found.append(Factor(name, numeric, False, is_share, settings))
    return found


def _partition(factor: Factor) -> frozenset[frozenset[Arm]]:
    """The sets of arms of one setting."""
    sets: dict[Setting, set[Arm]] = {}
    for arm, setting in factor.settings.items():
        sets.setdefault(setting, set()).add(arm)
    return frozenset(map(frozenset, sets.values()))


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None
