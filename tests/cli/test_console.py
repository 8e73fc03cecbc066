"""What is printed, where, and how it ends."""

import json
import math
import warnings
from pathlib import Path

import pytest
import typer

from evenhand.cli._bars import Jobs
from evenhand.cli._console import BadArgumentError, Console, clean, failures, table_lines


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


@pytest.mark.parametrize(
    ("error", "code", "words"),
    [
        (ValueError("x should be y."), 1, "Error: x should be y."),
        (
            FileNotFoundError(2, "No such file or directory", "a\x1bb"),
            1,
            "Error: No such file or directory: a\ufffdb",
        ),
        (ImportError("data sets need pooch: pip install 'evenhand[data]'"), 1, "Error: data sets need pooch: pip"),
        (
            ModuleNotFoundError("No module named 'jinja2'", name="jinja2"),
            1,
            "Error: this needs the package jinja2: pip",
        ),
        (RuntimeError("two\nlines"), 1, "Error: two\nlines"),
        (FloatingPointError("diverged"), 1, "Error: diverged"),
        (MemoryError(), 1, "Error: MemoryError"),
        (BadArgumentError("typed wrongly"), 2, "Error: typed wrongly"),
        (KeyboardInterrupt(), 130, "Interrupted."),
        (TypeError("a mistake"), 1, "Error: TypeError: a mistake. This should not happen; EVENHAND_DEBUG=1"),
    ],
    ids=lambda x: type(x).__name__ if isinstance(x, BaseException) else "",
)
def test_errors_are_a_line_and_a_code(error, code, words, capsys, monkeypatch):
    monkeypatch.delenv("EVENHAND_DEBUG", raising=False)
    with pytest.raises(typer.Exit) as ended, failures(Console()):
        raise error
    assert ended.value.exit_code == code
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith(words)
    assert "Traceback" not in said.err


def test_a_variable_shows_the_traceback(go, monkeypatch):
    monkeypatch.setenv("EVENHAND_DEBUG", "1")
    result = go("compare", "adlt")
    assert result.exit_code == 2
    assert "Traceback" in result.stderr
    assert "Error: DATA should be" in result.stderr


def test_readers_may_stop_reading():
    with pytest.raises(BrokenPipeError), failures(Console()):
        raise BrokenPipeError


def test_warnings_are_one_line_each(capsys):
    for quiet, expected in ((False, "Warning: look here\n"), (True, "")):
        with failures(Console(quiet=quiet)):
            warnings.warn("look\n  here", stacklevel=1)
        assert capsys.readouterr().err == expected


class _Folder:
    def __init__(self, config):
        self.config = config


def test_bars_show_all_jobs_and_the_one_that_runs():
    import io

    from rich.console import Console as Terminal
    from rich.progress import MofNCompleteColumn, Progress, TextColumn

    from evenhand.lab._config import Data, TableExperiment

    folder = _Folder(TableExperiment(Data("hi")))
    columns = (TextColumn("{task.description}"), MofNCompleteColumn(), TextColumn("{task.fields[words]}"))
    bars = Progress(*columns, console=Terminal(file=io.StringIO(), width=100))
    jobs = Jobs(Console(), 3, 1, bars, one_by_one=True)
    jobs.begin(folder, 0)(100, "half way")
    everything, running = bars.tasks
    assert (everything.completed, everything.total) == (1, 3)
    assert (running.completed, running.total, running.fields["words"]) == (100, 400, "half way")
    jobs.finish(folder)
    assert [task.completed for task in bars.tasks] == [2]
