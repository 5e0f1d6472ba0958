"""Which arm is compared with which."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from analysis.records.run_records import Arm


@dataclass(frozen=True)
class References:
    """The reference of the arms of one data group, and the axis along which arms are compared with it."""

    first: Arm
    axis: str | None
    """None where no axis of a grid tells the arms apart: all are then compared with the first reference."""
    arms: tuple[Arm, ...]

    def of(self, arm: Arm) -> Arm | None:
        """The arm at the reference's level of the axis, with equal levels of all others; none for that itself."""
        if self.axis is None:
            return None if arm is self.first else self.first
        wanted = {**arm.factors, self.axis: self.first.factors.get(self.axis)}
        return None if arm.factors == wanted else next((one for one in self.arms if one.factors == wanted), None)


def find_references(arms: Sequence[Arm], name: str | None) -> References:
    """By the name of an arm or of a level; of the first causal arm when that names none, or else of the first arm."""
    axes = varying_axes(arms)
    arm = next((arm for arm in arms if arm.name == name), None)
    if arm is None:
        for axis in axes:
            level = next((one for one in arms if one.factors.get(axis) == name), None)
            if level is not None:
                return References(level, axis, tuple(arms))
        arm = next((one for one in arms if one.is_causal), arms[0])
    changing = (axis for axis in axes if any(_says(a) != _says(b) for a, b in _pairs_along(axis, arms)))
    return References(arm, next(changing, next(iter(axes), None)), tuple(arms))


def varying_axes(arms: Sequence[Arm]) -> list[str]:
    """The axes of which the arms have different levels; those of the data never are, within one data group."""
    axes = dict.fromkeys(axis for arm in arms for axis in arm.factors)
    return [axis for axis in axes if len({arm.factors.get(axis) for arm in arms}) > 1]


def _pairs_along(axis: str, arms: Sequence[Arm]) -> Iterator[tuple[Arm, Arm]]:
    """Arms that differ along one axis alone, each with the first of its kind."""
    first: dict[tuple[tuple[str, str], ...], Arm] = {}
    for arm in arms:
        rest = tuple((name, level) for name, level in arm.factors.items() if name != axis)
        yield first.setdefault(rest, arm), arm


def _says(arm: Arm) -> tuple[object, ...]:
    """What an objective says of itself."""
    traits = arm.traits
    return arm.objective, arm.is_causal, traits.question, dict(traits.numeric), dict(traits.categorical)
