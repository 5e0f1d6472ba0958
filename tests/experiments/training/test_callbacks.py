"""When snapshots are taken."""

from experiments.training.callbacks import snapshot_steps


def test_snapshots_are_log_spaced_and_end_at_the_budget():
    assert snapshot_steps(64_000, 100, 4) == [10, 40, 160, 640]
    assert snapshot_steps(64_000, 100, 1) == [640]
    assert snapshot_steps(1_000, 300, 5) == [1, 4]
    assert snapshot_steps(1_000, 100, 3, first=500) == [5, 7, 10]
