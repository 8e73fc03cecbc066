"""Long work speaks within two seconds and then now and then; short work is silent."""

import re
import time

import pytest

from evenhand.common import _progress, progress_bar


@pytest.fixture
def soon(monkeypatch):
    """Lines come after hundredths of seconds."""
    monkeypatch.setattr(_progress, "MOMENTS", (0.02, 0.06, 0.1))


def test_short_work_is_silent_in_a_pipe(capsys):
    with progress_bar("auto", 3) as tick:
        tick(3, "all of it")
    assert capsys.readouterr().err == ""


def test_the_first_line_comes_within_two_seconds_even_if_nothing_is_done(capsys, soon):
    assert _progress.MOMENTS[0] < 2
    with progress_bar("auto", 200, what="training 2 modalities"):
        time.sleep(0.05)
        shown = capsys.readouterr()
    assert re.match(r"training 2 modalities: 0%, 0:00 so far\n", shown.err)
    assert shown.out == ""
    assert "in all" in capsys.readouterr().err  # who has begun to speak also says the last word


def test_lines_come_now_and_then(capsys, soon):
    with progress_bar("auto", 8, done=4) as tick:
        tick(2, "epoch 3/4")
        time.sleep(0.35)
    lines = capsys.readouterr().err.splitlines()
    assert 4 <= len(lines) <= 7
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
    with pytest.raises(RuntimeError, match="broken"), progress_bar(True, 3):
        raise RuntimeError("broken")
    capsys.readouterr()
    time.sleep(0.05)
    assert capsys.readouterr().err == ""


def test_a_terminal_gets_a_bar(capsys, monkeypatch):
    import sys

    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    with progress_bar("auto", 2) as tick:
        tick(2, "epoch 2/2")
    assert "━" in capsys.readouterr().err
