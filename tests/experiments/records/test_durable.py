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


def test_only_what_a_kill_left_unfinished_is_left_over(tmp_path):
    ours = [tmp_path / name for name in (".status.json.12.tmp", ".writable.7.tmp")]
    for path in (*ours, *(tmp_path / name for name in (".hidden", "a.1.tmp", ".a.tmp", ".status.json.x.tmp"))):
        path.touch()
    (tmp_path / ".link.1.tmp").symlink_to(tmp_path / ".hidden")
    (tmp_path / "linked").symlink_to(tmp_path)
    assert sorted(durable.leftovers(tmp_path)) == sorted(ours)
    assert durable.leftovers(tmp_path / "linked") == durable.leftovers(tmp_path / "none") == []


def test_an_error_of_the_file_system_names_the_file_and_what_to_do_once(tmp_path):
    named = durable.naming(tmp_path / "a.txt"), durable.naming(tmp_path / "a.txt")
    with pytest.raises(OSError, match=r"a\.txt \(No space left on device\): make room") as failure, named[0], named[1]:
        raise OSError(28, "No space left on device")
    assert str(failure.value).count("a.txt") == 1
