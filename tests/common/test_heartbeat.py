"""Work that takes long says so, short work does not."""

import time

import pytest

from evenhand.common import Heartbeat, progress_bar
from evenhand.common import _heartbeat as heartbeat


@pytest.fixture
def fast(monkeypatch):
    """Time passes twenty times as fast."""
    monkeypatch.setattr(heartbeat, "LONGEST", 0.3)
    monkeypatch.setattr(Heartbeat.__init__, "__kwdefaults__", {"first": 0.075})


def test_the_first_line_comes_within_two_seconds():
    assert heartbeat.FIRST < 2


def test_short_work_says_nothing(capsys):
    with Heartbeat(lambda: "words"):
        pass
    assert capsys.readouterr() == ("", "")


def test_while_a_bar_or_its_lines_speak_nobody_else_does(fast, capsys):
    with Heartbeat(lambda: "outer"), progress_bar("auto", 100):
        time.sleep(0.3)
    assert "outer" not in capsys.readouterr().err


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
