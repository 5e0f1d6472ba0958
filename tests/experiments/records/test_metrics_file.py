"""Recorded values and hashes come back exactly, and are cut back when a run is resumed."""

import pytest

from experiments.records import metrics_file

ROWS = [
    metrics_file.Row(step, step * 64, step * 10, 1.5e9 * step, 0.1 * step, quantity, 1 / (3 + step))
    for step in (1, 2, 3)
    for quantity in ("train/loss", "validation/loss")
]


def test_rows_come_back_exactly(tmp_path):
    metrics_file.append_rows(tmp_path / metrics_file.METRICS, ROWS[:2])
    metrics_file.append_rows(tmp_path / metrics_file.METRICS, ROWS[2:])
    assert metrics_file.read_metrics(tmp_path) == ROWS


def test_rows_after_a_step_are_dropped(tmp_path):
    metrics_file.append_rows(tmp_path / metrics_file.METRICS, ROWS)
    metrics_file.drop_after(tmp_path, 2)
    assert metrics_file.read_metrics(tmp_path) == ROWS[:4]
    metrics_file.append_rows(tmp_path / metrics_file.METRICS, ROWS[4:])
    assert metrics_file.read_metrics(tmp_path) == ROWS


def test_hashes_of_the_stream_come_back_and_are_cut_with_the_values(tmp_path):
    hashes = [metrics_file.StreamHash(step, f"{step:016x}") for step in (1, 2, 3)]
    metrics_file.append_rows(tmp_path / metrics_file.METRICS, ROWS)
    metrics_file.append_rows(tmp_path / metrics_file.STREAM, hashes)
    assert metrics_file.read_stream(tmp_path) == {1: "0" * 15 + "1", 2: "0" * 15 + "2", 3: "0" * 15 + "3"}
    metrics_file.drop_after(tmp_path, 1)
    assert metrics_file.read_stream(tmp_path) == {1: "0" * 15 + "1"}
    metrics_file.append_rows(tmp_path / metrics_file.STREAM, hashes[1:])
    assert len(metrics_file.read_stream(tmp_path)) == 3
    metrics_file.drop_after(tmp_path, 0)
    assert metrics_file.read_stream(tmp_path) == {} and metrics_file.read_metrics(tmp_path) == []
    metrics_file.append_rows(tmp_path / metrics_file.METRICS, ROWS)
    assert metrics_file.read_metrics(tmp_path) == ROWS


def test_a_torn_last_line_is_left_out(tmp_path):
    path = tmp_path / metrics_file.METRICS
    metrics_file.append_rows(path, ROWS)
    path.write_text(path.read_text()[:-9])
    assert metrics_file.read_metrics(tmp_path) == ROWS[:-1]
    metrics_file.drop_after(tmp_path, 3)
    metrics_file.append_rows(path, ROWS[-1:])
    assert metrics_file.read_metrics(tmp_path) == ROWS


def test_a_damaged_line_and_a_foreign_file_are_refused(tmp_path):
    path = tmp_path / metrics_file.METRICS
    metrics_file.append_rows(path, ROWS)
    path.write_text(path.read_text().replace(",64,", ",sixty-four,", 1))
    with pytest.raises(ValueError, match="line 2 is damaged"):
        metrics_file.read_metrics(tmp_path)
    path.write_text("a,b\n1,2\n")
    with pytest.raises(ValueError, match="not written by this program"):
        metrics_file.read_metrics(tmp_path)
