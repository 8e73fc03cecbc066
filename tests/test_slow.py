"""The lists of slow tests and of long files follow the tests when they move."""

from pathlib import Path

import pytest

from .conftest import LONG, SLOW


@pytest.mark.parametrize("name", SLOW)
def test_what_is_slow_is_there(name):
    path, _, start = name.partition("::")
    assert f"def {start}" in (Path(__file__).parent / path).read_text()


@pytest.mark.parametrize("name", LONG)
def test_what_is_long_is_there(name):
    assert (Path(__file__).parent / name).is_file()
