"""Checkpoints survive a kill and notice a flipped bit."""

import pytest
import torch

from experiments.records.checkpoints import complete
from experiments.training.checkpoint_files import DurableCheckpointIO


def test_checkpoints_come_back_and_a_flipped_bit_is_noticed(tmp_path):
    files = DurableCheckpointIO()
    path = tmp_path / "step-1.ckpt"
    files.save_checkpoint({"weights": torch.arange(1000)}, path)
    assert torch.equal(files.load_checkpoint(path)["weights"], torch.arange(1000))
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    with pytest.raises(ValueError, match="damaged"):
        files.load_checkpoint(path)


def test_a_checkpoint_without_its_hash_does_not_count(tmp_path):
    files = DurableCheckpointIO()
    for step in (1, 2):
        files.save_checkpoint({"step": step}, tmp_path / f"step-{step}.ckpt")
    (tmp_path / "step-2.ckpt.sha256").unlink()
    assert [path.name for path in complete(tmp_path)] == ["step-1.ckpt"]
    with pytest.raises(ValueError, match="no finished checkpoint"):
        files.load_checkpoint(tmp_path / "step-2.ckpt")
    files.remove_checkpoint(tmp_path / "step-1.ckpt")
    assert complete(tmp_path) == []


def test_a_save_that_fails_leaves_nothing_that_counts(tmp_path):
    with pytest.raises(Exception, match="pickle"):
        DurableCheckpointIO().save_checkpoint({"no": lambda: None}, tmp_path / "a.ckpt")
    assert list(tmp_path.iterdir()) == []
