"""Draws without state: the published generator, uniform, and different for each part of the key."""

import torch
from scipy import stats

from objectives import Key
from objectives.training.randomness import splitmix64, uniform
from tests.support.objectives import FALSE_ALARM


def splitmix64_reference(state: int) -> int:
    mask = 2**64 - 1
    state = (state + 0x9E3779B97F4A7C15) & mask
    state = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & mask
    state = ((state ^ (state >> 27)) * 0x94D049BB133111EB) & mask
    return state ^ (state >> 31)


def test_splitmix64_is_the_published_function():
    # First output of the published generator from state 0.
    assert splitmix64_reference(0) == 0xE220A8397B1DCDAF
    states = [0, 1, -1, 2**62, -(2**63), 1234567890123]
    ours = splitmix64(torch.tensor(states))
    assert [value % 2**64 for value in ours.tolist()] == [splitmix64_reference(s % 2**64) for s in states]


def test_draws_are_uniform_and_differ_by_each_part_of_the_key():
    def draw(seed=1, epoch=0, index=0, purpose="a"):
        blocks = torch.arange(index, index + 64)
        return uniform(Key(seed, torch.full_like(blocks, epoch), blocks), purpose, 128)

    first = draw()
    assert stats.kstest(first.flatten().numpy(), "uniform").pvalue > FALSE_ALARM
    for other in (draw(seed=2), draw(epoch=1), draw(index=64), draw(purpose="b")):
        assert not torch.isclose(first, other).float().mean() > 0.01
        assert abs(torch.corrcoef(torch.stack([first.flatten(), other.flatten()]))[0, 1]) < 0.06
    assert torch.equal(first[10:], draw(index=10)[:54])
