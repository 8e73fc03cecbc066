"""Options that are written once and taken by several verbs."""

from dataclasses import dataclass
from inspect import signature
from typing import Annotated

import pytest
import typer
from typer.testing import CliRunner

from evenhand.cli._spread import spread


@dataclass(frozen=True)
class Size:
    width: Annotated[int, typer.Option("--width", min=1)] = 3
    names: Annotated[list[str] | None, typer.Option("--name")] = None


def app_of(verb):
    app = typer.Typer()
    app.command()(verb)
    return app


def test_a_verb_has_the_options_of_the_group_and_gets_one_object():
    seen = []

    @spread(Size)
    def draw(what: str, loud: Annotated[bool, typer.Option("--loud")] = False, *, size: Size) -> None:
        """Draw something."""
        seen.append((what, loud, size))

    assert list(signature(draw).parameters) == ["what", "loud", "width", "names"]
    result = CliRunner().invoke(app_of(draw), ["x", "--loud", "--width", "5", "--name", "a", "--name", "b"])
    assert result.exit_code == 0, result.output
    assert CliRunner().invoke(app_of(draw), ["y"]).exit_code == 0
    assert seen == [("x", True, Size(5, ["a", "b"])), ("y", False, Size())]
    assert CliRunner().invoke(app_of(draw), ["y", "--width", "0"]).exit_code == 2


def test_a_verb_without_the_group_is_a_mistake():
    with pytest.raises(ValueError, match="not enough values"):

        @spread(Size)
        def draw(what: str) -> None:
            """Draw something."""
