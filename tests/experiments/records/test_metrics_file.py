"""Recorded values and hashes come back exactly."""

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


def test_hashes_of_the_stream_come_back(tmp_path):
    hashes = [metrics_file.StreamHash(step, f"{step:016x}") for step in (1, 2, 3)]
    metrics_file.append_rows(tmp_path / metrics_file.STREAM, hashes)
    assert metrics_file.read_stream(tmp_path) == hashes and metrics_file.read_metrics(tmp_path) == []


def test_rows_are_kept_by_what_they_are(tmp_path):
    metrics_file.append_rows(tmp_path / metrics_file.METRICS, ROWS)
    metrics_file.keep_rows(tmp_path, lambda row: row.step < 3)
    assert metrics_file.read_metrics(tmp_path) == ROWS[:4]
    metrics_file.keep_rows(tmp_path, lambda row: False)
    assert not (tmp_path / metrics_file.METRICS).exists()


def test_a_torn_last_line_is_left_out(tmp_path):
    path = tmp_path / metrics_file.METRICS
    metrics_file.append_rows(path, ROWS)
    path.write_text(path.read_text()[:-9])
    assert metrics_file.read_metrics(tmp_path) == ROWS[:-1]


def test_rows_before_a_damaged_line_can_be_read(tmp_path):
    path = tmp_path / metrics_file.METRICS
    metrics_file.append_rows(path, ROWS)
    path.write_bytes(path.read_bytes().replace(b"3,192", b"3,\xff92", 1))
    assert metrics_file.readable_rows(tmp_path) == (ROWS[:4], [])
    with pytest.raises(ValueError, match="line 6 is damaged"):
        metrics_file.read_metrics(tmp_path)


def test_a_damaged_line_and_a_foreign_file_are_refused(tmp_path):
    path = tmp_path / metrics_file.METRICS
    metrics_file.append_rows(path, ROWS)
    path.write_text(path.read_text().replace(",64,", ",sixty-four,", 1))
    with pytest.raises(ValueError, match="line 2 is damaged"):
        metrics_file.read_metrics(tmp_path)
    path.write_text("a,b\n1,2\n")
    with pytest.raises(ValueError, match="another program"):
        metrics_file.read_metrics(tmp_path)


def test_quoted_cells_are_read_line_by_line(tmp_path):
    """A quotation mark that is left open takes in no other line."""
    path = tmp_path / metrics_file.METRICS
    metrics_file.append_rows(path, ROWS)
    path.write_text(path.read_text().replace("train/loss", '"train/loss"', 1))
    assert metrics_file.read_metrics(tmp_path) == ROWS
    text = path.read_text().replace('"train/loss"', '"train/loss', 1)
    path.write_text(text.replace("validation/loss", 'validation/loss"', 1))
    with pytest.raises(ValueError, match="line 2 is damaged"):
        metrics_file.read_metrics(tmp_path)


@pytest.mark.parametrize("damaged", ["", "1,2", "1,64,10,1.5,0.1,train/loss,0.5,9", "1,64,10,1.5,0.1\r,train/loss,0.5"])
def test_a_line_with_other_cells_is_named(tmp_path, damaged):
    path = tmp_path / metrics_file.METRICS
    metrics_file.append_rows(path, ROWS)
    lines = path.read_text().split("\n")
    path.write_bytes("\n".join([*lines[:4], damaged, *lines[4:]]).encode())
    assert metrics_file.readable_rows(tmp_path)[0] == ROWS[:3]
    with pytest.raises(ValueError, match="line 5 is damaged"):
        metrics_file.read_metrics(tmp_path)
