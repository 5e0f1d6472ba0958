"""A run at a terminal shows how far it is; elsewhere it shows nothing."""

import fcntl
import io
import os
import pty
import re
import struct
import termios
import threading

import pytest

from experiments.training import progress_bar
from experiments.training.callbacks import Checkpoints
from experiments.training.command_line import ObjectiveCLI
from experiments.training.loop import Interrupted
from tests.support.tiny import fit_arguments, run_config, write_text

BAR = re.compile(r"(\d+)%\|.*\| (\S+) of (\S+) tokens at +(\S+)/s, (\S+) left(.*)")


class Terminal:
    """A pseudo-terminal of 120 columns as standard error; `shown` has all that was written to it."""

    def __init__(self):
        self.shown = ""
        self.inside, outside = pty.openpty()
        fcntl.ioctl(outside, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 120, 0, 0))
        self.file = os.fdopen(outside, "w")
        self.reader = threading.Thread(target=self._read)
        self.reader.start()

    def _read(self):
        try:
            while part := os.read(self.inside, 4096):
                self.shown += part.decode()
        except OSError:  # Linux's way of saying that the other side is closed
            pass

    def bars(self):
        """The bars that were shown, once all has been written."""
        self.file.close()
        self.reader.join()
        return [match for line in re.split(r"[\r\n]+", self.shown) if (match := BAR.search(line))]


@pytest.fixture
def config(tmp_path, monkeypatch):
    monkeypatch.setattr(progress_bar, "SECONDS_BETWEEN", 0.0)
    return run_config(write_text(tmp_path / "text.txt"))


def test_a_terminal_sees_a_bar(config, tmp_path, monkeypatch):
    terminal = Terminal()
    with monkeypatch.context() as patched:
        patched.setattr("sys.stderr", terminal.file)
        ObjectiveCLI(fit_arguments(config, tmp_path / "results"))
    bars = terminal.bars()
    assert bars[0][1] == "0" and bars[-1][1] == "100"
    assert all(bar[3] == "1.92k" for bar in bars)
    trained = [bar for bar in bars if re.fullmatch(r", loss \d\.\d{3}, lr 0\.0\d+", bar[6])]
    assert len(trained) > 25
    assert any(bar[6] == ", evaluating" for bar in bars)
    assert all(re.fullmatch(r"[\d.]+k?", bar[4]) for bar in trained), [bar[4] for bar in trained]
    assert all(re.fullmatch(r"\d\d:\d\d", bar[5]) for bar in trained)


def test_a_resumed_run_begins_where_it_stands(config, tmp_path, monkeypatch):
    original = Checkpoints.on_train_batch_end

    def stop_after_ten(self, trainer, *rest):
        self.stop.signal = 15 if trainer.global_step == 10 else None
        original(self, trainer, *rest)

    with monkeypatch.context() as patched, pytest.raises(Interrupted):
        patched.setattr(Checkpoints, "on_train_batch_end", stop_after_ten)
        ObjectiveCLI(fit_arguments(config, tmp_path / "results"))
    terminal = Terminal()
    with monkeypatch.context() as patched:
        patched.setattr("sys.stderr", terminal.file)
        ObjectiveCLI(fit_arguments(config, tmp_path / "results"))
    bars = terminal.bars()
    assert bars[0][1] == "33" and bars[-1][1] == "100"
    assert bars[1][6].startswith(", loss")


def test_nothing_is_shown_elsewhere(config, tmp_path, monkeypatch):
    written = io.StringIO()
    with monkeypatch.context() as patched:
        patched.setattr("sys.stderr", written)
        ObjectiveCLI(fit_arguments(config, tmp_path / "results"))
    assert not BAR.search(written.getvalue()) and "tokens" not in written.getvalue()
