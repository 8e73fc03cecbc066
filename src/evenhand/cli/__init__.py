"""The command line: verbs of a few lines each. Heavy packages are imported by the verb that needs them."""

from __future__ import annotations

import sys

__all__ = ["main"]


def main() -> None:
    """The command `evenhand`."""
    try:
        from ._app import app
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("evenhand"):  # a mistake of ours, not a package to install
            raise
        sys.exit(f"Error: the command line needs the package {error.name}: pip install 'evenhand[experiments]'")
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(
                errors="replace"
            )  # a terminal without a letter of a column's name is no reason to fail
    app(prog_name="evenhand")
