"""What is printed, and where."""

import json
import math
import time
from pathlib import Path

from evenhand.cli._console import Console, clean, table_lines
from evenhand.common import Heartbeat


def test_lines_cannot_steer_a_terminal():
    assert clean("a\x1b[31mb\tc\u202ed\ud800") == "a\ufffd[31mb c\ufffdd\ufffd"
    assert clean("[red]é漢[/red]") == "[red]é漢[/red]"


def test_tables_are_aligned_whatever_the_letters():
    lines = table_lines(("name", "n", "why"), [("漢字", "10", "x"), ("a", "7", "y\nz")], (1,))
    assert lines == ["name   n  why", "漢字  10  x", "a      7  y z"]


def test_the_last_column_is_wrapped_on_a_terminal():
    lines = table_lines(("name", "why"), [("a", "word " * 12)], width=40)
    assert all(len(line) <= 40 for line in lines)
    assert lines[2].startswith("      word")


def test_json_has_no_numbers_that_json_has_not(capsys):
    Console(json=True).result({"a": math.nan, "b": [1.0, math.inf], 3: Path("x")})
    assert json.loads(capsys.readouterr().out) == {"a": None, "b": [1.0, None], "3": "x"}


def test_it_says_what_is_being_done_where_nothing_else_is_said(capsys, monkeypatch):
    monkeypatch.setattr(Heartbeat.__init__, "__kwdefaults__", {"first": 0.05})
    for console, expected in ((Console(), "reading a\ufffdb ...\n"), (Console(quiet=True), "")):
        with console.speaking():
            console.begin("reading a\x1bb")
            time.sleep(0.1)
        assert capsys.readouterr().err[: len(expected) or None] == expected
