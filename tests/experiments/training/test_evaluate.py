"""A snapshot measured again has the values that were recorded."""

import pytest

from experiments.cli import main
from experiments.records import durable, metrics_file, run_directory
from experiments.training.checkpoint_files import complete
from experiments.training.command_line import ObjectiveCLI
from tests.support.tiny import fit_arguments, only_run, run_config


def printed(capsys, *arguments):
    """Exit code of `evaluate`, the values it printed by quantity, and what it said on stderr."""
    capsys.readouterr()
    code = main(["evaluate", *map(str, arguments)])
    out, err = capsys.readouterr()
    return code, {name: float(value) for name, value in (line.split("\t") for line in out.splitlines())}, err


@pytest.mark.parametrize("objective", ["CLM", "MLM"])
def test_evaluate_gives_what_was_recorded(objective, text, tmp_path, capsys):
    ObjectiveCLI(fit_arguments(run_config(text, objective), tmp_path))
    run = only_run(tmp_path)
    recorded = {}
    for row in metrics_file.read_metrics(run):
        if row.quantity.partition("/")[0] not in ("train", "ledger"):
            recorded.setdefault(row.tokens, {})[row.quantity] = row.value
    assert len(recorded) == 3
    for snapshot in complete(run / "snapshots"):
        assert printed(capsys, run, "--snapshot", snapshot.name)[:2] == (
            0,
            recorded[int(snapshot.stem.removeprefix("tokens-"))],
        )
    assert printed(capsys, tmp_path / "tiny")[:2] == (0, recorded[30 * 64])  # the last, of a run without its hash


def test_evaluate_refuses_in_one_line(text, tmp_path, capsys):
    ObjectiveCLI(fit_arguments(run_config(text), tmp_path))
    run = only_run(tmp_path)
    snapshot = complete(run / "snapshots")[0]
    proof = durable.read_json(run / run_directory.PAIRING)
    cases = [((tmp_path / "nothing",), "no run"), ((run, "--snapshot", "none.ckpt"), snapshot.name)]
    for arguments, words in cases:
        assert words in refused(printed(capsys, *arguments))
    snapshot.write_bytes(b"damage")
    assert "damaged" in refused(printed(capsys, run, "--snapshot", snapshot))
    durable.write_json(run / run_directory.PAIRING, {**proof, "data": "0"})
    assert "another data" in refused(printed(capsys, run))


def refused(outcome):
    code, values, error = outcome
    assert code == 2 and not values and error.splitlines()[-1].startswith("error: ") and "Traceback" not in error
    return error.splitlines()[-1]
