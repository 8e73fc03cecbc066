"""Long work speaks, short work does not."""

import io
import re
import sys
import time

import pytest

from evenhand.common import Heartbeat, duration, progress_bar
from evenhand.common import _heartbeat as heartbeat


class _Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def fast(monkeypatch):
    """Time passes twenty times as fast."""
    monkeypatch.setattr(heartbeat, "LONGEST", 0.3)
    monkeypatch.setattr(Heartbeat.__init__, "__kwdefaults__", {"first": 0.075})


def test_the_first_line_comes_within_two_seconds():
    assert heartbeat.FIRST < 2


def test_short_work_says_nothing(capsys):
    with progress_bar("auto", 10) as tick:
        tick(10, "done")
    assert capsys.readouterr() == ("", "")


def test_a_pipe_gets_lines_at_growing_intervals(fast, capsys):
    with progress_bar("auto", 100, done=50) as tick:
        tick(10, "3 runs")  # the first is done
        for _ in range(20):
            time.sleep(0.05)
            tick(1, "3 runs")
    out, err = capsys.readouterr()
    lines = err.splitlines()
    assert out == ""
    assert 3 <= len(lines) <= 6  # after 0.08, 0.23, 0.53, 0.83 s; the machine may be busy
    assert re.fullmatch(r"training: \d\d % done, about \d+ s left \(3 runs\)", lines[-1])
    shares = [int(line.split()[1]) for line in lines]
    assert shares == sorted(shares)
    assert shares[0] >= 60


def test_a_step_that_takes_long_is_no_silence(fast, capsys):
    with progress_bar(True, 100):
        time.sleep(0.3)
    assert capsys.readouterr().err.splitlines()[0] == "training: 0 % done"


def test_who_wants_no_words_gets_none(fast, capsys):
    with progress_bar(False, 100) as tick:
        time.sleep(0.3)
        tick(1, "words")
    assert capsys.readouterr() == ("", "")


def test_a_terminal_gets_a_bar(monkeypatch):
    terminal = _Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with progress_bar("auto", 100) as tick:
        tick(100, "all of it")
    assert "100%" in terminal.getvalue()


def test_only_the_last_one_speaks_and_what_was_said_is_not_said_again(fast, capsys):
    with Heartbeat(lambda: "outer") as outer:
        with Heartbeat(lambda: "inner"):
            time.sleep(0.2)
        assert set(capsys.readouterr().err.split()) == {"inner"}
        for _ in range(10):
            outer.rest()
            time.sleep(0.02)
        assert capsys.readouterr().err == ""
        time.sleep(0.2)
    assert set(capsys.readouterr().err.split()) == {"outer"}


def test_a_heart_stops_with_its_work():
    with pytest.raises(ValueError, match="broken"), Heartbeat(lambda: "never") as beat:
        raise ValueError("broken")
    assert not beat._thread.is_alive()


def test_durations_are_said_as_people_say_them():
    assert [duration(s) for s in (0.4, 40, 99, 100, 3600, 9000)] == [
        "0 s",
        "40 s",
        "99 s",
        "2 min",
        "60 min",
        "2.5 h",
    ]
