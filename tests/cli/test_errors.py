"""What is said of mistakes and failures, and how the command ends."""

import warnings

import pytest
import typer

from evenhand.cli._console import Console
from evenhand.cli._errors import BadArgumentError, advising, arguments, failures, refusal
from evenhand.common import ArgumentError


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
        (BadArgumentError(ValueError("typed wrongly")), 2, "Error: typed wrongly"),
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


def test_the_shell_has_its_own_names_of_arguments():
    with (
        pytest.raises(BadArgumentError, match="^--device should be there. Found 'abacus'.$"),
        arguments(device="--device"),
    ):
        raise ArgumentError("device", "be there", "'abacus'")
    with pytest.raises(BadArgumentError, match="^rows should be many. Found 1.$"), arguments(device="--device"):
        raise ArgumentError("rows", "be many", "1")
    with pytest.raises(BadArgumentError, match="^typed wrongly$"), arguments():
        raise ValueError("typed wrongly")


def test_what_was_refused_is_not_renamed():
    with pytest.raises(BadArgumentError, match="^device should stay"), arguments(device="--device"):
        raise refusal("device", "stay", "it")


def test_advice_is_what_to_type():
    for argument, words in (("frame", "Type this."), ("schema", "Write that.")):
        with pytest.raises(ArgumentError) as caught, advising({"frame": "Type this."}):
            raise ArgumentError(argument, "be whole", "a half", "Write that.")
        assert caught.value.advice == words
    with pytest.raises(ArgumentError, match="^DATA should"), advising({"frame": "Type this."}, frame="DATA"):
        raise ArgumentError("frame", "be whole", "a half")
