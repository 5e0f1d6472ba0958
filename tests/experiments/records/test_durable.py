"""Writes that fail leave the old file, and hashes of contents."""

import pytest

from experiments.records import durable


def test_a_failed_write_leaves_the_old_file(tmp_path):
    path = tmp_path / "file"
    durable.write_text(path, "old")
    with pytest.raises(RuntimeError), durable.replacing(path) as temporary:
        temporary.write_text("half")
        raise RuntimeError
    assert path.read_text() == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["file"]


def test_content_hash_ignores_the_order_of_keys():
    assert durable.content_hash({"a": 1, "b": [1, 2]}) == durable.content_hash({"b": [1, 2], "a": 1})
    assert durable.content_hash({"a": 1}) != durable.content_hash({"a": 2})
