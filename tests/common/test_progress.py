"""Long work speaks within two seconds and then now and then; short work is silent."""

import re
import sys
import threading
import time

import pytest

from evenhand.common import _progress, progress_bar


@pytest.fixture
def soon(monkeypatch):
    """Lines come after hundredths of seconds."""
    monkeypatch.setattr(_progress, "MOMENTS", (0.02, 60.0))


def test_short_work_is_silent_in_a_pipe(capsys, monkeypatch):
    monkeypatch.setattr(_progress, "MOMENTS", (60.0,))  # the machine may be busy
    with progress_bar("auto", 3) as tick:
        tick(3, "all of it")
    assert capsys.readouterr().err == ""


def test_the_first_line_comes_within_two_seconds_even_if_nothing_is_done(capsys, soon):
    assert _progress.MOMENTS[0] < 2
    with progress_bar("auto", 200, what="training 2 modalities"):
        shown, until = "", time.monotonic() + 10
        while not shown and time.monotonic() < until:
            shown = capsys.readouterr().err
            time.sleep(0.01)
    assert re.match(r"training 2 modalities: 0%, 0:00 so far\n", shown)
    assert "in all" in capsys.readouterr().err  # who has begun to speak also says the last word


class Ended:
    """The end of work, after so many pauses."""

    def __init__(self, after):
        self.after, self.pauses = after, []

    def wait(self, seconds):
        self.pauses.append(seconds)
        return len(self.pauses) > self.after


def test_lines_come_now_and_then(capsys):
    speaker, ended = _progress._Speaker(8, 4, "training"), Ended(after=3)
    speaker.tick(2, "epoch 3/4")
    speaker.speak(ended)
    lines = capsys.readouterr().err.splitlines()
    assert ended.pauses == [1.5, 8.5, 20, 30]
    assert len(lines) == 3
    assert re.fullmatch(r"training: 75%, epoch 3/4, 0:00 so far, about 0:00 left", lines[0])


def test_the_moments():
    pauses = _progress._pauses()
    seconds, moments = 0.0, []
    for _ in range(6):
        seconds += next(pauses)
        moments.append(seconds)
    assert moments == [1.5, 10, 30, 60, 120, 180]
    assert _progress._clock(125.4) == "2:05"


def test_whoever_asks_gets_the_last_line(capsys):
    with progress_bar(True, 3) as tick:
        tick(3, "epoch 3/3")
    assert capsys.readouterr().err == "training: 100%, epoch 3/3, 0:00 in all\n"
    with progress_bar(False, 3) as tick:
        tick(3, "epoch 3/3")
    assert capsys.readouterr().err == ""


def test_an_error_passes_and_ends_the_lines(capsys, soon):
    before = threading.active_count()
    with pytest.raises(RuntimeError, match="broken"), progress_bar(True, 3):
        raise RuntimeError("broken")
    assert threading.active_count() == before
    assert "in all" not in capsys.readouterr().err


def test_a_terminal_gets_a_bar(capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    with progress_bar("auto", 2) as tick:
        tick(2, "epoch 2/2")
    assert "━" in capsys.readouterr().err
